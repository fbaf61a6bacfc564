"""Seeded faults: each function makes its first NaN or Inf on the line marked ``# @bad``.

``FAULTS`` maps a name to the function and the operation to be named; ``HEALTHY`` holds twins and
legal infinities on which every detector must stay silent. Read by tests/runtime and benchmarks.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import threading
from typing import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

FAULTS: dict[str, tuple[Callable[[], object], str]] = {}
HEALTHY: dict[str, Callable[[], object]] = {}


def fault(op: str) -> Callable[[Callable[[], object]], Callable[[], object]]:
    def register(function: Callable[[], object]) -> Callable[[], object]:
        FAULTS[function.__name__] = (function, op)
        return function

    return register


def healthy(function: Callable[[], object]) -> Callable[[], object]:
    HEALTHY[function.__name__] = function
    return function


def leaf(*values: float) -> Tensor:
    return torch.tensor(values, requires_grad=True)


# -- forward -----------------------------------------------------------------------------------


@fault("log")
def log_zero() -> None:
    x = torch.relu(leaf(-1.0, 2.0))
    y = torch.log(x)  # @bad
    (y * 0).sum().backward()


@fault("log")
def log_zero_method() -> None:
    p = torch.sigmoid(leaf(200.0, 0.0))
    loss = -(1 - p).log().mean()  # @bad
    loss.backward()


@fault("log")
def log_zero_without_grad() -> None:
    heights = torch.tensor([3.0, 0.0])
    target = torch.log(heights / 16)  # @bad
    F.mse_loss(leaf(1.0, 1.0), target)


@fault("log")
def log_negative() -> None:
    x = leaf(1.0, -1.0) * 2
    torch.log(x).sum()  # @bad


@fault("div")
def zero_by_zero() -> None:
    z = torch.relu(leaf(-1.0, -2.0))
    z = z / z.norm()  # @bad
    z.sum()


@fault("div")
def divide_in_place() -> None:
    with torch.no_grad():
        x = torch.ones(3)
        total = torch.zeros(3)
        x /= total  # @bad


@fault("div")
def divide_by_zero_std() -> None:
    x = torch.full((8,), 3.0) * leaf(1.0)
    y = (x - x.mean()) / x.std()  # @bad
    y.sum()


@fault("reciprocal")
def reciprocal_of_zero() -> None:
    x = leaf(1.0, 0.0) * 1
    x.reciprocal().sum()  # @bad


@fault("rsqrt")
def rsqrt_of_zero() -> None:
    x = leaf(1.0, 0.0) * 1
    torch.rsqrt(x).sum()  # @bad


@fault("pow")
def zero_to_minus_one() -> None:
    x = leaf(1.0, 0.0) * 1
    y = x**-1  # @bad
    y.sum()


@fault("sqrt")
def sqrt_negative() -> None:
    variance = leaf(4.0) - leaf(5.0)
    torch.sqrt(variance).sum()  # @bad


@fault("exp")
def exp_overflow() -> None:
    logvar = leaf(200.0, 1.0) * 2
    std = torch.exp(logvar)  # @bad
    std.sum()


@fault("exp")
def exp_then_infinity_minus_infinity() -> None:
    x = leaf(100.0, 1.0) * 1
    a = x.exp()  # @bad
    (a - a).sum()


@fault("sub")
def infinity_minus_infinity() -> None:
    scores = torch.zeros(2).masked_fill(torch.tensor([True, False]), float("-inf"))
    (scores - scores.amin()).sum()  # @bad


@fault("square")
def square_overflow() -> None:
    x = leaf(1e30) * 1
    x.square().sum()  # @bad


@fault("linear")
def half_overflow() -> None:
    layer = nn.Linear(4, 4, bias=False).half()
    nn.init.constant_(layer.weight, 100.0)
    with torch.no_grad():
        layer(torch.full((2, 4), 1000.0).half())  # @bad


@fault("matmul")
def half_attention_overflow() -> None:
    q = torch.full((1, 8, 16), 100.0).half()
    q @ q.transpose(1, 2)  # @bad


@fault("to")
def cast_overflow() -> None:
    x = torch.tensor([1e6, 1.0])
    x.to(torch.float16)  # @bad


@fault("softmax")
def masked_softmax() -> None:
    scores = torch.zeros(3, 4) * leaf(1.0)
    mask = torch.tensor([[True], [False], [False]])
    scores = scores.masked_fill(mask, float("-inf"))
    torch.softmax(scores, -1).sum()  # @bad


@fault("softmax")
def masked_softmax_module() -> None:
    scores = torch.full((2, 3), float("-inf"))
    attention = nn.Softmax(dim=-1)
    attention(scores + leaf(0.0))  # @bad


@fault("multi_head_attention_forward")
def fully_padded_attention() -> None:
    torch.manual_seed(0)
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    x = torch.randn(2, 3, 8)
    padding = torch.tensor([[False, False, False], [True, True, True]])
    out, _ = attention(x, x, x, key_padding_mask=padding)  # @bad
    out.sum()


@fault("std")
def std_of_one() -> None:
    x = leaf(3.0)
    x.std().sum()  # @bad


@fault("var")
def var_of_one_row() -> None:
    x = torch.randn(1, 4) * leaf(1.0)
    x.var(dim=0).sum()  # @bad


@fault("mean")
def mean_of_nothing() -> None:
    x = leaf(1.0, 2.0) * 1
    x[x > 5].mean()  # @bad


@fault("cross_entropy")
def all_ignored() -> None:
    logits = torch.randn(4, 3, requires_grad=True)
    labels = torch.full((4,), -100)
    F.cross_entropy(logits, labels)  # @bad


@fault("cross_entropy")
def all_ignored_module() -> None:
    criterion = nn.CrossEntropyLoss()
    logits = torch.randn(4, 3, requires_grad=True)
    criterion(logits, torch.full((4,), -100))  # @bad


@fault("cross_entropy")
def masked_target() -> None:
    logits = torch.zeros(2, 3, requires_grad=True)
    banned = torch.tensor([[False, True, False], [False, False, False]])
    F.cross_entropy(logits.masked_fill(banned, -torch.inf), torch.tensor([1, 0]))  # @bad


@fault("square")
def diverging() -> None:
    w = torch.full((3,), 1e15, requires_grad=True)
    for _ in range(4):
        loss = (w * 1e5).square().sum()  # @bad
        (gradient,) = torch.autograd.grad(loss, w)
        with torch.no_grad():
            w -= 1e-9 * gradient


@fault("ctc_loss")
def ctc_too_short() -> None:
    logp = torch.randn(4, 1, 6, requires_grad=True).log_softmax(-1)
    F.ctc_loss(logp, torch.tensor([[1, 1, 1]]), torch.tensor([4]), torch.tensor([3]))  # @bad


@fault("acos")
def acos_out_of_range() -> None:
    cosine = leaf(1.0) * 1.0001
    torch.acos(cosine).sum()  # @bad


@fault("logit")
def logit_of_one() -> None:
    p = leaf(1.0, 0.5) * 1
    torch.logit(p).sum()  # @bad


@fault("log")
def inside_library_module() -> None:
    class Entropy(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return -(x * x.log()).sum()  # @bad

    net = nn.Sequential(nn.Linear(2, 2), nn.Softmax(-1), Entropy())
    nn.init.constant_(net[0].weight, 0.0)
    with torch.no_grad():
        net[0].bias.copy_(torch.tensor([0.0, 300.0]))
    net(torch.ones(1, 2))


@fault("log")
def under_no_grad() -> None:
    with torch.no_grad():
        x = torch.tensor([0.5, 0.0])
        torch.log(x)  # @bad


@fault("log")
def under_inference_mode() -> None:
    with torch.inference_mode():
        x = torch.tensor([0.5, 0.0])
        torch.log(x)  # @bad


@fault("log")
def in_custom_function() -> None:
    class Entropy(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):  # type: ignore[no-untyped-def]
            return x * torch.log(x)  # @bad

        @staticmethod
        def backward(ctx, grad):  # type: ignore[no-untyped-def]
            return grad

    Entropy.apply(leaf(0.0, 1.0))


@fault("log")
def in_checkpoint() -> None:
    def block(x: Tensor) -> Tensor:
        return torch.log(torch.relu(x))  # @bad

    checkpoint(block, leaf(-1.0, 1.0), use_reentrant=False).sum().backward()


@fault("log")
def in_a_thread() -> None:
    def replica(x: Tensor) -> None:
        torch.log(x)  # @bad

    thread = threading.Thread(target=replica, args=(torch.tensor([0.5, 0.0]),))
    thread.start()
    thread.join()


@fault("div")
def in_nested_output() -> None:
    @dataclasses.dataclass
    class Output:
        logits: Tensor
        hidden: dict[str, tuple[Tensor, ...]]

    class Net(nn.Module):
        def forward(self, x: Tensor) -> Output:
            scale = x / x.abs().amax()  # @bad
            return Output(logits=x, hidden={"states": (x, scale)})

    Net()(torch.zeros(2) * leaf(1.0))


@fault("linear")
def autocast_overflow() -> None:
    layer = nn.Linear(4, 4)
    nn.init.constant_(layer.weight, 3e38)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        layer(torch.full((2, 4), 4.0))  # @bad


@fault("normalize")
def out_argument() -> None:
    x = torch.zeros(1, 2)
    F.normalize(x, dim=1, eps=0.0)  # @bad


# -- backward ----------------------------------------------------------------------------------


@fault("SqrtBackward0")
def sqrt_gradient() -> None:
    w = leaf(0.0, 4.0)
    square = w * w
    root = torch.sqrt(square)  # @bad
    root.sum().backward()


@fault("SqrtBackward0")
def sqrt_gradient_of_constant() -> None:
    w = leaf(1.0, 2.0)
    total = (w - w.detach()).square().sum()
    distance = total.sqrt()  # @bad
    (distance * 3 + w.sum()).backward()


@fault("PowBackward0")
def power_gradient() -> None:
    w = leaf(0.0, 4.0)
    flat = w * 1
    edge = flat**0.5  # @bad
    edge.mean().backward()


@fault("ExpBackward0")
def where_gradient() -> None:
    x = leaf(200.0, -1.0) * 1
    y = torch.where(x < 0, torch.exp(x), x + 1.0)  # @bad
    y.sum().backward()


@fault("ReciprocalBackward0")
def where_division_gradient() -> None:
    x = leaf(0.0, 2.0) * 1
    y = torch.where(x > 0, 1 / x, torch.zeros_like(x))  # @bad
    y.sum().backward()


@fault("LogBackward0")
def where_log_gradient() -> None:
    x = leaf(0.0, 2.0) * 1
    entropy = torch.where(x > 0, torch.log(x), 0.0)  # @bad
    entropy.sum().backward()


@fault("AcosBackward0")
def acos_gradient() -> None:
    x = leaf(1.0, 0.5) * 1
    torch_angle = torch.acos(x)  # @bad
    torch_angle.sum().backward()


@fault("PowBackward0")
def pow_gradient_in_module() -> None:
    class Edge(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return (x * x).sum(-1) ** 0.5  # @bad

    net = nn.Sequential(nn.Linear(2, 2, bias=False), Edge())
    nn.init.zeros_(net[0].weight)
    net(torch.ones(3, 2)).sum().backward()


@fault("SqrtBackward0")
def gradient_in_checkpoint() -> None:
    def block(x: Tensor) -> Tensor:
        return torch.sqrt(x * x)  # @bad

    checkpoint(block, leaf(0.0, 1.0), use_reentrant=False).sum().backward()


@fault("div")
def in_custom_backward() -> None:
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):  # type: ignore[no-untyped-def]
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):  # type: ignore[no-untyped-def]
            (x,) = ctx.saved_tensors
            return grad / x  # @bad

    Scale.apply(leaf(0.0, 1.0)).sum().backward()


@fault("NumpyRootBackward")
def in_custom_backward_outside_torch() -> None:
    class NumpyRoot(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):  # type: ignore[no-untyped-def]
            return torch.from_numpy(x.detach().numpy() * 2)

        @staticmethod
        def backward(ctx, grad):  # type: ignore[no-untyped-def]
            return torch.full_like(grad, math.nan)

    x = leaf(0.0, 1.0) * 1
    y = NumpyRoot.apply(x)  # @bad
    (y * 2).sum().backward()


@fault("SqrtBackward0")
def gradient_by_autograd_grad() -> None:
    x = leaf(0.0, 4.0) * 1
    y = x.sqrt()  # @bad
    torch.autograd.grad(y.sum(), x)


@fault("SqrtBackward0")
def gradient_of_threaded_replicas() -> None:
    w = leaf(0.0, 4.0)
    results: list[Tensor] = []

    def replica() -> None:
        for _ in range(20):  # numbers of nodes differ from those of the main thread
            (w * 2).sum()
        results.append(torch.sqrt(w))  # @bad

    thread = threading.Thread(target=replica)
    thread.start()
    thread.join()
    torch.stack(results).sum().backward()


@fault("SqrtBackward0")
def distance_loss_gradient() -> None:
    torch.manual_seed(0)
    embed = nn.Linear(4, 2)
    a = torch.randn(3, 4)
    difference = embed(a) - embed(a.clone())
    distance = difference.square().sum(1).sqrt()  # @bad
    torch.relu(1 - distance).mean().backward()


@fault("MulBackward0")
def half_gradient_overflow() -> None:
    x = torch.ones(2, dtype=torch.float16, requires_grad=True) * 1
    y = x * 1000.0  # @bad
    y.backward(torch.full((2,), 600.0, dtype=torch.float16))


# -- update ------------------------------------------------------------------------------------


@fault("Adam.step")
def adam_epsilon_in_half() -> None:
    w = nn.Parameter(torch.ones(4, dtype=torch.float16))
    optimizer = torch.optim.Adam([w], lr=1e-3)
    (w[:2] * 2).sum().backward()
    optimizer.step()  # @bad


@fault("SGD.step")
def sgd_overflow() -> None:
    w = nn.Parameter(torch.full((4,), 3e38))
    optimizer = torch.optim.SGD([w], lr=1.0)
    w.grad = torch.full((4,), -3e38)
    optimizer.step()  # @bad


@fault("sub")
def update_by_hand() -> None:
    w = torch.full((4,), 3e38, requires_grad=True)
    (w * -1e-30).sum().backward()
    with torch.no_grad():
        w -= w.grad * 3e38 * 1e30  # @bad


@fault("div")
def own_optimizer() -> None:
    class Normalised(torch.optim.Optimizer):
        @torch.no_grad()
        def step(self, closure=None):  # type: ignore[no-untyped-def]
            for group in self.param_groups:
                for p in group["params"]:
                    p.sub_(p.grad / p.grad.norm())  # @bad

    w = nn.Parameter(torch.ones(3))
    optimizer = Normalised([w], {})
    (w * 0).sum().backward()
    optimizer.step()


# -- healthy -----------------------------------------------------------------------------------


@healthy
def causal_mask() -> None:
    mask = torch.triu(torch.full((4, 4), float("-inf")), diagonal=1)
    scores = torch.randn(2, 4, 4, requires_grad=True) + mask
    torch.softmax(scores, -1).sum().backward()


@healthy
def boolean_mask() -> None:
    scores = torch.randn(2, 4, requires_grad=True)
    scores = scores.masked_fill(torch.tensor([True, False, False, True]), -torch.inf)
    F.cross_entropy(scores, torch.tensor([1, 2])).backward()


@healthy
def mask_by_logarithm() -> None:
    mask = torch.log(torch.tensor([[1.0, 0.0, 1.0]]))
    torch.softmax(torch.randn(2, 3, requires_grad=True) + mask, -1).sum().backward()


@healthy
def masks_added() -> None:
    lowest = torch.finfo(torch.float32).min
    mask = (1 - torch.tensor([1.0, 0.0])) * lowest
    combined = mask + mask
    torch.softmax(torch.randn(2, 2, requires_grad=True) + combined, -1).sum().backward()


@healthy
def transformer_with_padding() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    padding = torch.tensor([[False, False, True], [False, True, True]])
    mask = nn.Transformer.generate_square_subsequent_mask(3)
    layer(torch.randn(2, 3, 8), src_mask=mask, src_key_padding_mask=padding.float() * -1e9)


@healthy
def uninitialised_memory() -> None:
    torch.use_deterministic_algorithms(True)
    try:
        buffer = torch.empty(16)
        buffer.normal_()
        nn.Linear(4, 4)
        torch.empty_like(buffer).copy_(buffer).add_(1)
    finally:
        torch.use_deterministic_algorithms(False)


@healthy
def guarded_division() -> None:
    with torch.no_grad():
        hits, total = torch.tensor([1.0, 0.0]), torch.tensor([2.0, 0.0])
        precision = hits / total
        precision[total == 0] = 0
        share = torch.where(total > 0, hits / total, torch.zeros(2))
        ratio = hits / total
        (ratio[~torch.isnan(ratio)].mean(), share.mean(), (hits / total).nan_to_num().mean())


@healthy
def nanmean_metric() -> None:
    union = torch.tensor([1.0, 0.0])
    iou = torch.tensor([1.0, 0.0]) / union
    iou.nanmean()


@healthy
def missing_labels() -> None:
    labels = torch.tensor([1.0, float("nan")])
    scaled = (labels - 0.5) / 2
    seen = ~torch.isnan(scaled)
    (leaf(1.0, 2.0)[seen] - scaled[seen]).square().mean().backward()


@healthy
def running_minimum() -> None:
    best = torch.full((), float("inf"))
    for loss in (torch.tensor(2.0), torch.tensor(1.0)):
        best = torch.minimum(best, loss)
    best = float("inf") * torch.ones(1)


@healthy
def large_but_finite() -> None:
    x = torch.full((1000,), 1e38) * leaf(1.0)
    (x * 1e-38).sum().backward()


@healthy
def half_activations() -> None:
    x = torch.full((100_000,), 2.0, dtype=torch.float16)
    (x * 3).clone() + 1


@healthy
def gradient_scaler_search() -> None:
    torch.manual_seed(0)
    net = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127)
    for _ in range(4):
        loss = net(torch.randn(8, 4)).square().mean() * 100
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@healthy
def masked_beam_scores() -> None:
    scores = torch.full((4,), -torch.inf)
    scores[0] = 0.0
    scores = scores.unsqueeze(1) + torch.randn(4, 5).log_softmax(-1)
    scores.flatten().topk(3)
    torch.logsumexp(scores, 1)


@healthy
def copied_module() -> None:
    net = nn.Linear(3, 3)
    twin = copy.deepcopy(net)
    with torch.no_grad():
        for a, b in zip(net.parameters(), twin.parameters()):
            b.mul_(0.9).add_(a, alpha=0.1)


@healthy
def functional_transforms() -> None:
    x = torch.randn(3, 4)
    torch.func.vmap(lambda row: (row * 2).exp().sum())(x)
    torch.func.grad(lambda row: row.square().sum())(x[0])


@healthy
def printing() -> None:
    x = torch.tensor([1.0, float("nan"), float("inf"), 1e-8])
    repr(x)
    str(x)


@healthy
def meta_and_fake() -> None:
    with torch.device("meta"):
        net = nn.Linear(4, 4)
    net(torch.empty(2, 4, device="meta"))
    nn.LazyLinear(4)(torch.randn(2, 7))


@healthy
def sparse_and_empty() -> None:
    dense = torch.eye(3)
    sparse = dense.to_sparse()
    (sparse @ dense).sum()
    torch.zeros(0).sum()
    (torch.zeros(0, 3) * 2).exp()


@healthy
def where_with_safe_argument() -> None:
    x = leaf(200.0, -1.0) * 1
    torch.where(x < 0, torch.exp(x.clamp(max=0)), x + 1.0).sum().backward()
