"""Programs that use autograd, transforms, tracers and modes in unusual ways, and are right.

More entries of ``training.PROGRAMS``.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any, ClassVar, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from tests.programs.training import program, train


def small() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2))


def data() -> tuple[Tensor]:
    return (torch.randn(4, 4),)


@program
def compiled_eagerly(steps: int) -> list[Any]:
    net = torch.compile(small(), backend="eager")
    return train(net, data, steps)


@program
def compiled_function(steps: int) -> list[Any]:
    @torch.compile(backend="eager")
    def loss_of(net: nn.Module, x: Tensor) -> Tensor:
        y = net(x)
        torch._dynamo.graph_break()
        return y.square().mean()

    return train(small(), data, steps, loss_of)


@program
def compiled_method_in_place(steps: int) -> list[Any]:
    net = small()
    net.compile(backend="eager")
    with torch.device("cpu"):
        return train(net, data, steps)


@program
def scripted(steps: int) -> list[Any]:
    return train(torch.jit.script(small()), data, steps)


@program
def scripted_inside(steps: int) -> list[Any]:
    @torch.jit.script
    def gate(x: Tensor) -> Tensor:
        return torch.sigmoid(x) * x

    return train(small(), data, steps, lambda net, x: gate(net(x)).square().mean())


@program
def traced(steps: int) -> list[Any]:
    net = small().eval()
    module = torch.jit.trace(net, torch.randn(4, 4))
    function = torch.jit.trace(lambda x: (x.exp() + 1).log(), torch.randn(3))
    graphs = [str(module.forward.graph), str(function.graph)]
    return [*graphs, *train(module, data, steps)]


@program
def exported(steps: int) -> list[Any]:
    from torch.fx.experimental.proxy_tensor import make_fx

    net, x = small().eval(), torch.randn(4, 4)

    def function(x: Tensor) -> Tensor:
        with torch.no_grad():
            y = torch.log(x.abs() + 1)
        return y.softmax(-1).sum() + x.std()

    graphs = [
        torch.export.export(net, (x,)).graph,
        torch.export.export(net, (x,), strict=True).graph,
        make_fx(function)(x).graph,
        make_fx(function, tracing_mode="fake")(x).graph,
        make_fx(function, tracing_mode="symbolic")(x).graph,
        make_fx(function, pre_dispatch=True)(x).graph,
        torch.fx.symbolic_trace(net).graph,
        make_fx(torch.func.grad(lambda x: x.exp().sum()))(x).graph,
    ]
    rewritten = torch.fx.symbolic_trace(small())
    return [*map(str, graphs), *train(rewritten, data, steps)]


@program
def fake_tensors(steps: int) -> list[Any]:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        net = small()
        out = net(torch.randn(4, 4))
        out.sum().backward()
        torch.optim.SGD(net.parameters(), 0.1).step()
    real = torch.randn(4, 4)
    with mode:
        converted = mode.from_tensor(real) * 2
    return [list(out.shape), list(converted.shape), *train(small(), data, steps)]


@program
def functional_transforms(steps: int) -> list[Any]:
    from torch.func import functional_call, grad, hessian, jacrev, jvp, vjp, vmap

    net = small().eval()
    parameters = {k: v.detach() for k, v in net.named_parameters()}

    def loss(parameters: dict[str, Tensor], x: Tensor) -> Tensor:
        return functional_call(net, parameters, (x,)).square().mean()

    done: list[Any] = []
    for _ in range(min(steps, 10)):
        x = torch.randn(3, 4)
        each = vmap(grad(loss), in_dims=(None, 0))(parameters, x)
        parameters = {k: v - 0.01 * each[k].mean(0) for k, v in parameters.items()}
        done += [*each.values(), jacrev(lambda x: x.sin().sum(-1))(x), hessian(torch.sum)(x.exp())]
        done += [*jvp(torch.exp, (x,), (x,)), *vjp(torch.tanh, x)[1](x)]
        done.append(vmap(lambda x: F.dropout(x, 0.5), randomness="different")(x))
        done.append(torch.autograd.functional.jacobian(torch.exp, x[0], vectorize=True))
        done.append(torch.autograd.functional.hvp(lambda x: x.cos().sum(), x, x)[1])
    return done


@program
def forward_mode(steps: int) -> list[Any]:
    import torch.autograd.forward_ad as fwd

    done: list[Any] = []
    for _ in range(min(steps, 10)):
        with fwd.dual_level():
            dual = fwd.make_dual(torch.randn(3), torch.randn(3))
            done.append(fwd.unpack_dual(dual.exp().tanh()).tangent.clone())
    return done


class Logged(torch.Tensor):
    calls: ClassVar[list[str]] = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        cls.calls.append(getattr(func, "__name__", "?"))
        return super().__torch_function__(func, types, args, kwargs or {})


class Counted(torch.Tensor):
    calls: ClassVar[list[str]] = []

    @staticmethod
    def __new__(cls, inner: Tensor) -> Counted:
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner: Tensor) -> None:
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        cls.calls.append(str(func))
        args = [x.inner if isinstance(x, Counted) else x for x in args]
        out = func(*args, **(kwargs or {}))
        return Counted(out) if isinstance(out, Tensor) else out


@program
def subclasses(steps: int) -> list[Any]:
    Logged.calls, Counted.calls = [], []
    x = torch.randn(4, 4).as_subclass(Logged)
    done = train(small(), lambda: (x,), steps, lambda net, x: net(x).as_subclass(Tensor).mean())
    counted = Counted(torch.randn(3))
    for _ in range(min(steps, 5)):
        counted = (counted * 1.5).exp().log()
    return [*done, counted.inner, *Logged.calls, *Counted.calls]


@program
def modes_of_the_users_own(steps: int) -> list[Any]:
    calls: ClassVar[list[str]] = []

    class Functions(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            calls.append(getattr(func, "__name__", "?"))
            return func(*args, **(kwargs or {}))

    class Operations(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            calls.append(str(func))
            return func(*args, **(kwargs or {}))

    with Functions():
        done = train(small(), data, min(steps, 10))
    with Operations():
        done += train(small(), data, min(steps, 10))
    with Operations(), Functions(), torch.device("cpu"):
        done += train(small(), data, min(steps, 10))
    return [*done, *calls]


@program
def devices(steps: int) -> list[Any]:
    torch.set_default_device("cpu")
    try:
        with torch.device("meta"):
            shape = nn.Linear(3, 3)(torch.empty(2, 3)).shape
        with torch.device("cpu"), torch.device("cpu"):
            done = train(small(), data, steps)
        place = str(torch.get_default_device())
    finally:
        torch.set_default_device(None)
    return [*done, list(shape), place, str(torch.get_default_device()), str(torch.empty(1).device)]


@program
def saved_tensor_hooks(steps: int) -> list[Any]:
    packed: list[Any] = []

    def pack(x: Tensor) -> Any:
        packed.append(list(x.shape))
        return x.detach().clone() if x.is_leaf else x

    def loss_of(net: nn.Module, x: Tensor) -> Tensor:
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
            hidden = net(x)
        with torch.autograd.graph.save_on_cpu():
            return hidden.square().mean()

    return train(small(), data, steps, loss_of) + packed


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, note):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(x)
        ctx.note = note
        ctx.set_materialize_grads(False)
        y = x * 2
        ctx.mark_non_differentiable(mask := y > 0)
        return y, mask, x.view_as(x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad, _mask, other):  # type: ignore[no-untyped-def]
        ctx.note.append((grad is None, other is None, ctx.needs_input_grad[0]))
        (x,) = ctx.saved_tensors
        return grad * 2 + x * 0, None


class Modern(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):  # type: ignore[no-untyped-def]
        return x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        return grad * ctx.saved_tensors[0]


class AddInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):  # type: ignore[no-untyped-def]
        ctx.mark_dirty(x)
        return x.add_(1)

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        return grad


@program
def custom_functions(steps: int) -> list[Any]:
    notes: list[Any] = []

    def loss_of(net: nn.Module, x: Tensor) -> Tensor:
        y, mask, same = Twice.apply(net(x), notes)
        y = AddInPlace.apply(Modern.apply(y * mask) * 1)
        (slope,) = torch.autograd.grad(Modern.apply(same).sum(), same, create_graph=True)
        return y.mean() + slope.square().mean()

    vmapped = torch.func.vmap(Modern.apply)(torch.randn(3, 2))
    return [*train(small(), data, steps, loss_of), vmapped, *notes]


@program
def retained_graphs(steps: int) -> list[Any]:
    done: list[Any] = []
    for _ in range(min(steps, 10)):
        x = torch.randn(4, requires_grad=True)
        y = (x.exp() * x).tanh()
        loss = y.sum()
        loss.backward(retain_graph=True, create_graph=True)
        (x.grad.square().sum() + loss).backward()
        done.append(x.grad.detach())
        y = x.cos()
        edge = torch.autograd.graph.get_gradient_edge(y)
        done += torch.autograd.grad(edge, x, torch.ones(4), retain_graph=True)
        torch.autograd.backward([y.sum(), (x * 2).sum()], [torch.tensor(2.0), None])
        try:
            loss.backward()
        except RuntimeError as error:
            done.append(str(error)[:40])
        base = torch.zeros(4).requires_grad_() * 1
        base[1:3] = x[:2]
        base[:2].mul_(3)
        base.sum().backward()
        done.append(x.grad.detach().clone())
    return done


@program
def generators(steps: int) -> list[Any]:
    @torch.no_grad()
    def frozen(net: nn.Module) -> Iterator[Tensor]:
        for _ in range(3):
            yield net(torch.randn(2, 4))

    @torch.enable_grad()
    def scores(net: nn.Module, x: Tensor) -> Iterator[Tensor]:
        yield net(x).mean()
        yield net(x * 2).square().mean()

    def loss_of(net: nn.Module, x: Tensor) -> Tensor:
        first = [y.requires_grad for y in frozen(net)]
        with torch.no_grad():
            kept = list(scores(net, x))
        with torch.inference_mode():
            net(x)
        return sum(kept[1:], kept[0]) + len(first)

    return train(small(), data, steps, loss_of)


@program
def profiled(steps: int) -> list[Any]:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        done = train(small(), data, min(steps, 5))
    with torch.autograd.profiler.record_function("all"), torch.autograd.detect_anomaly(False):
        return done + train(small(), data, min(steps, 5))


@program
def distributed(steps: int) -> list[Any]:
    import torch.distributed as dist

    with tempfile.TemporaryDirectory() as folder:
        store = f"file://{os.path.join(folder, 'store')}"
        dist.init_process_group("gloo", init_method=store, rank=0, world_size=1)
        try:
            net = nn.parallel.DistributedDataParallel(small())
            done = train(net, data, steps)
            gathered = [torch.empty(3)]
            dist.all_gather(gathered, torch.arange(3.0))
            dist.all_reduce(gathered[0])
        finally:
            dist.destroy_process_group()
    return [*done, *gathered]


@program
def sharded(steps: int) -> list[Any]:
    import torch.distributed as dist
    from torch.distributed.fsdp import fully_shard

    with tempfile.TemporaryDirectory() as folder:
        store = f"file://{os.path.join(folder, 'store')}"
        dist.init_process_group("gloo", init_method=store, rank=0, world_size=1)
        try:
            mesh = dist.init_device_mesh("cpu", (1,))
            net = small()
            fully_shard(net, mesh=mesh)
            done = train(net, data, steps)
            done = [x.to_local() if hasattr(x, "to_local") else x for x in done]
        finally:
            dist.destroy_process_group()
    return done


@program
def quantised(steps: int) -> list[Any]:
    from torch.ao.quantization import MinMaxObserver, default_qat_qconfig

    fake = default_qat_qconfig.weight()
    observer = MinMaxObserver()

    def loss_of(net: nn.Module, x: Tensor) -> Tensor:
        return fake(observer(net(x))).square().mean()

    done = train(small(), data, steps, loss_of)
    whole = torch.quantize_per_tensor(torch.randn(4), 0.1, 0, torch.qint8)
    return [*done, observer.calculate_qparams()[0], whole.int_repr(), whole.dequantize()]


@program
def odd_layouts(steps: int) -> list[Any]:
    dense = torch.randn(3, 3)
    nested = torch.nested.nested_tensor([torch.randn(2), torch.randn(3)])
    jagged = torch.nested.nested_tensor([torch.randn(2, 2), torch.randn(3, 2)], layout=torch.jagged)
    csr = dense.to_sparse_csr()
    weight = nn.EmbeddingBag(5, 3, sparse=True, mode="sum")
    optimizer = torch.optim.SparseAdam(weight.parameters())
    for _ in range(min(steps, 5)):
        optimizer.zero_grad()
        weight(torch.tensor([[1, 2], [3, 1]])).sum().backward()
        optimizer.step()
    bits = torch.randn(4).to(torch.float8_e4m3fn)
    return [
        csr @ dense, (dense.to_sparse() * 2).to_dense(), dense.to_mkldnn().to_dense(),
        (nested * 2).to_padded_tensor(0.0), (jagged * 2).values(), weight.weight.detach(),
        bits.float(), torch.view_as_real(torch.fft.fft(dense)), torch.zeros(0).sum(),
        torch.empty(3, 0).sum(1), (dense > 0) & (dense < 1), dense.conj() + 1j,
    ]  # fmt: skip


@program
def saved_and_loaded(steps: int) -> list[Any]:
    net = small()
    net.register_buffer("mask", torch.full((3,), -torch.inf))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "net.pt")
        torch.save({"net": net.state_dict(), "whole": net}, path)
        loaded = torch.load(path, weights_only=False)
    net.load_state_dict(loaded["net"])
    net.load_state_dict(loaded["net"], assign=True)
    numbers = torch.as_tensor([[1.0, float("nan")]]).numpy()
    table = torch.from_numpy(numbers).clone()
    filled = torch.where(table.isnan(), torch.zeros(()), table).float()
    return [*train(loaded["whole"], data, steps), filled]
