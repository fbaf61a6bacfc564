"""Data breakpoints: whoever writes is found, on the line that wrote."""

from __future__ import annotations

import ctypes
import sys
import threading
import warnings
from types import SimpleNamespace
from typing import Any, Callable

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from watching import Host, data_breaking, watchable

from zentracer.control.hit_condition import HitCondition
from zentracer.frameworks.pytorch.data import registry
from zentracer.frameworks.pytorch.data.target import Target
from zentracer.frameworks.pytorch.data.watched import Watched
from zentracer.frameworks.pytorch.training.hub import Training
from zentracer.frameworks.pytorch.watch import Watch
from zentracer.watches.clock import clock


class World(SimpleNamespace):
    """What the writers write into: a linear layer and a batch norm, an optimiser, an array."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.bn = nn.BatchNorm1d(4)
        self.w = self.fc.weight
        self.alias = self.w.detach()
        self.view = self.alias[1:]
        self.opt = torch.optim.SGD([self.w], lr=0.1, momentum=0.9)
        self.array = np.arange(12, dtype=np.float32).reshape(3, 4)
        self.shared = torch.from_numpy(self.array)
        self.x = torch.randn(5, 4)


def backward(at: World) -> None:
    at.fc(at.x).square().sum().backward()


def hits_of(write: Callable[[World], Any], expression: str, world: World, **how: Any) -> Host:
    with data_breaking(sys._getframe(), expression, **how) as host:
        write(world)
    assert host.notices == []
    return host


IN_PLACE: dict[str, Callable[[World], Any]] = {
    "add_": lambda at: at.w.data.add_(1),
    "x[...] =": lambda at: at.alias.__setitem__(0, 7.0),
    "mul_": lambda at: at.w.detach().mul_(2),
    "zero_": lambda at: at.w.data.zero_(),
    "copy_": lambda at: at.view.copy_(torch.ones(3, 4)),
    "sub": lambda at: torch.sub(at.alias, 1, out=at.alias),
    "relu": lambda at: F.relu(at.alias, inplace=True),
    "dropout": lambda at: F.dropout(at.alias, 0.9, True, True),
    "clamp_": lambda at: torch.clamp_(at.alias, max=-9),
    "_foreach_mul_": lambda at: torch._foreach_mul_([at.x, at.alias], 2.0),
    "mul_ ": lambda at: torch.ops.aten.mul_(at.alias, 3),
    "exponential_": lambda at: at.alias.exponential_(),
    "index_fill_": lambda at: at.alias.index_fill_(0, torch.tensor([1]), 9.0),
    "kaiming_uniform_": lambda at: nn.init.kaiming_uniform_(at.w),
    "constant_": lambda at: nn.init.constant_(tensor=at.w, val=5.0),
    ".data =": lambda at: setattr(at.w, "data", torch.ones(4, 4)),
}


@pytest.mark.parametrize("op", IN_PLACE)
def test_write_in_place(op: str) -> None:
    write, world = IN_PLACE[op], World()
    with torch.no_grad():
        host = hits_of(write, "world.fc.weight", world)
    (hit,) = host.hits
    assert hit.details.writer == op.strip()
    assert host.frames == [(write.__code__.co_filename, write.__code__.co_firstlineno)]
    assert hit.text.startswith(f"world.fc.weight changed by {op.strip()} (forward, step 0): ")
    assert hit.reason == "data breakpoint"
    assert hit.details.before is not None and hit.details.before.norm != hit.details.tensor.norm


THROUGH: dict[str, tuple[str, Callable[[World], Any]]] = {
    "copy_ in load_state_dict": (
        "world.fc.weight",
        lambda at: at.fc.load_state_dict(nn.Linear(4, 4).state_dict()),
    ),
    ".data = in vector_to_parameters": (
        "world.fc.weight",
        lambda at: nn.utils.vector_to_parameters(torch.ones(16), [at.w]),
    ),
    ".data = in half": ("world.fc.weight", lambda at: at.fc.half()),
    "batch_norm in forward of BatchNorm1d": ("world.bn.running_mean", lambda at: at.bn(at.x)),
    "add_ in forward of BatchNorm1d": ("world.bn.num_batches_tracked", lambda at: at.bn(at.x)),
    "batch_norm": (
        "world.bn.running_var",
        lambda at: F.batch_norm(at.x, at.bn.running_mean, at.bn.running_var, training=True),
    ),
    "embedding": (
        "world.fc.weight",
        lambda at: F.embedding(torch.tensor([1]), at.w.detach(), max_norm=0.01),
    ),
    "add_": ("world.array", lambda at: torch.from_numpy(at.array[1]).add_(1)),
    "add_ ": ("world.array[1, 2]", lambda at: at.shared.add_(1)),
    "sub_": ("world.shared", lambda at: torch.from_numpy(at.array).sub_(1)),
    "assignment": (
        "world.fc.weight",
        lambda at: setattr(at.fc, "weight", nn.Parameter(torch.zeros(4, 4))),
    ),
    "assignment ": (
        "world.bn.running_mean",
        lambda at: setattr(at.bn, "running_mean", torch.ones(4)),
    ),
}


@pytest.mark.parametrize("writer", THROUGH)
def test_write_through_something_else(writer: str) -> None:
    (expression, write), world = THROUGH[writer], World()
    host = hits_of(write, expression, world)
    (hit,) = host.hits
    assert hit.details.writer == writer.strip()
    assert host.frames[0][1] == write.__code__.co_firstlineno
    assert hit.details.note is None


def test_update_is_one_write_by_the_optimiser() -> None:
    world = World()
    backward(world)
    with data_breaking(sys._getframe(), "world.fc.weight", "world.fc.weight[0]") as host:
        world.opt.step(); line = sys._getframe().f_lineno  # fmt: skip  # noqa: E702
    (hit,) = host.hits
    assert hit.breakpoint_ids == (1, 2)
    assert host.frames == [(__file__, line)]
    assert hit.text.startswith("world.fc.weight changed by SGD.step (update, step 1): ")
    assert hit.text.endswith("of its norm, 16 of 16 elements")
    assert "changed as well: world.fc.weight[0]" in hit.details.evidence


def test_state_of_an_optimiser() -> None:
    world = World()
    backward(world)
    world.opt.step()
    with data_breaking(sys._getframe(), "world.opt.state[world.w]['momentum_buffer']") as host:
        world.opt.step()
    (hit,) = host.hits
    assert hit.details.writer == "SGD.step"


class Own(torch.optim.Optimizer):
    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters, {})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                p.mul_(0.9)
                p.sub_(0.1 * p.grad)


def test_optimiser_of_the_users_own_is_seen_line_by_line() -> None:
    world = World()
    backward(world)
    optimizer = Own([world.w])
    with data_breaking(sys._getframe(), "world.fc.weight") as host:
        optimizer.step()
    assert [hit.details.writer for hit in host.hits] == ["mul_", "sub_"]
    assert host.frames[1][1] == host.frames[0][1] + 1


def test_gradient_appears_grows_and_goes() -> None:
    world = World()
    with data_breaking(sys._getframe(), "world.w.grad") as host:
        assert host.described[1] == "world.w.grad · None for now"
        backward(world)
        backward(world)
        world.opt.zero_grad(set_to_none=False)
        world.w.grad = None
        backward(world)
    assert [hit.text.partition(" (")[0] for hit in host.hits] == [
        "world.w.grad holds a tensor now, by backward",
        "world.w.grad changed by backward",
        "world.w.grad changed by zero_ in zero_grad",
        "world.w.grad is None now, by .grad =",
        "world.w.grad holds a tensor now, by backward",
    ]
    assert host.frames[0][1] == backward.__code__.co_firstlineno + 1


UNSEEN: dict[str, tuple[str, Callable[[World], Any]]] = {
    "numpy": ("world.array", lambda at: at.array.__setitem__(0, 5)),
    "numpy of a tensor": ("world.fc.weight", lambda at: np.copyto(at.w.detach().numpy(), 1.0)),
    "memory": ("world.fc.weight", lambda at: ctypes.memset(at.w.data_ptr(), 0, 64)),
    "storage": ("world.fc.weight", lambda at: at.w.untyped_storage().fill_(0)),
    "attribute": ("world.x", lambda at: setattr(at, "x", torch.zeros(5, 4))),
    "entry": ("world.fc.weight", lambda at: at.fc._parameters.update(weight=nn.Parameter(at.x))),
}


@pytest.mark.parametrize("how", UNSEEN)
def test_unseen_write_is_found_at_the_next_safe_point(how: str) -> None:
    (expression, write), world = UNSEEN[how], World()
    loss = world.fc(world.x).sum()
    with data_breaking(sys._getframe(), expression) as host:
        world.opt.zero_grad(); first = sys._getframe().f_lineno  # fmt: skip  # noqa: E702
        loss.backward(retain_graph=True)
        write(world)
        loss.backward(); line = sys._getframe().f_lineno  # fmt: skip  # noqa: E702
    (hit,) = host.hits
    assert host.frames[0][0] == __file__ and first < host.frames[0][1] <= line
    done = "assigned" if how in ("attribute", "entry") else "written"
    assert (hit.details.note or "").startswith(f"found at the next safe point; it was {done} ")


def test_numpy_write_is_found_at_the_next_torch_call() -> None:
    world = World()
    with data_breaking(sys._getframe(), "world.array") as host:
        torch.ones(2); line = sys._getframe().f_lineno  # fmt: skip  # noqa: E702
        world.array[2] = 1
        torch.ones(2)
    (hit,) = host.hits
    assert host.frames == [(__file__, line + 2)]
    assert f"written between test_data_writers.py:{line} and here" in (hit.details.note or "")


def test_one_element_of_a_large_table() -> None:
    table = torch.zeros(1000, 1000)
    with data_breaking(sys._getframe(), "table") as host:
        table[777, 77] = 1
        table[5, 5] = 0
    (hit,) = host.hits
    assert "elements outside of the sample of 16,384" in hit.text
    assert hit.details.before is not None and hit.details.before.sampled


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.int64, torch.bool])
def test_types_of_elements(dtype: torch.dtype) -> None:
    x = torch.zeros(64, dtype=dtype)
    with data_breaking(sys._getframe(), "x", "x.view(8, 8).t()[1:3, :]") as host:
        x[1] = 1
    (hit,) = host.hits
    assert hit.breakpoint_ids == (1, 2)
    assert "1 of 64 elements" in hit.text


def test_nan_is_written() -> None:
    x = torch.zeros(8)
    with data_breaking(sys._getframe(), "x if nan > 0") as host:
        x.add_(1)
        x[3] = float("nan")
        x[3] = float("nan")
    (hit,) = host.hits
    assert (hit.details.tensor.nan, hit.details.changed) == (1, None)


def test_condition_on_the_change_and_hit_count() -> None:
    x = torch.ones(4)
    with data_breaking(sys._getframe(), "x if changed > 0.02") as host:
        x.mul_(1.01)
        x.mul_(1.5)
    (hit,) = host.hits
    assert hit.details.changed == pytest.approx(0.5)
    assert "50% of its norm, 4 of 4 elements" in hit.text


def test_a_condition_is_false_where_a_value_does_not_exist() -> None:
    w = nn.Parameter(torch.ones(2))
    w.sum().backward()
    conditions = ("size > 1", "shape[0] == 2", "dtype.startswith('f')", "norm > 0", "x is None")
    with data_breaking(sys._getframe(), *(f"w.grad if {each}" for each in conditions)) as host:
        w.grad = None
        torch.relu(w)
    assert [hit.breakpoint_ids for hit in host.hits] == [(5,)] and host.notices == []


def test_compiled_region_is_compared_at_the_next_safe_point() -> None:
    world = World()
    compiled = torch.compile(world.bn, backend="eager")
    with data_breaking(sys._getframe(), "world.bn.running_mean") as host:
        compiled(world.x)
        compiled(world.x + 1).sum().backward()
    assert len(host.hits) == 2 and host.notices == []
    assert all("code that is compiled" in (hit.details.note or "") for hit in host.hits)


def test_sparse_gradient_is_passed_over() -> None:
    table = nn.Embedding(10, 3, sparse=True)
    optimizer = torch.optim.SparseAdam(table.parameters())
    with data_breaking(sys._getframe(), "table.weight.grad", "table.weight[3]") as host:
        for _ in range(2):
            table(torch.tensor([3])).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    assert [hit.breakpoint_ids for hit in host.hits] == [(2,), (2,)]


def test_thread_of_the_users() -> None:
    x = torch.zeros(4)

    def work() -> None:
        x.add_(1)

    with data_breaking(sys._getframe(), "x") as host:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert host.frames == [(__file__, work.__code__.co_firstlineno + 1)]


def test_other_threads_find_what_is_watched_while_more_is_armed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = torch.zeros(3, requires_grad=True), torch.zeros(3)
    targets = []
    for expression in ("first.grad", "second"):
        data_id, _ = watchable(expression, sys._getframe())
        target = registry.find(data_id or "")
        assert target is not None
        targets.append(target)
    watched, found, learn = Watched(), [], Target.learn

    def learning(target: Target, *limits: Any) -> None:
        found.append(watched.gradients_of(first))
        learn(target, *limits)

    watched.set(targets[:1], precise=False)
    monkeypatch.setattr(Target, "learn", learning)
    watched.set(reversed(targets), precise=False)
    assert [set(one) for one in found] == [{targets[0]}]
    watched.set((), precise=False)
    del second


def test_hits_of_two_threads_are_counted_one_after_the_other() -> None:
    training, entered = Training(Watch(Host(), (), precise=False)), threading.Event()
    other = threading.Thread(target=lambda: training.is_turn(1, hits))
    overlapped = []

    def allows(count: int, _step: int | None) -> bool:
        if count > 1:
            entered.set()
            return True
        other.start()
        overlapped.append(entered.wait(0.05))
        return True

    hits = HitCondition("", allows)
    assert training.is_turn(1, hits)
    other.join()
    assert overlapped == [False] and hits.hits == 2


def test_stop_within_a_trace_looks_at_the_next_safe_point() -> None:
    w = torch.zeros(100)
    alias = w.numpy()

    def traced(x: torch.Tensor) -> torch.Tensor:
        alias[0] = 5
        clock.stopped()
        return x * 2

    with data_breaking(sys._getframe(), "w") as host:
        with warnings.catch_warnings():
            warnings.simplefilter("error", torch.jit.TracerWarning)
            torch.jit.trace(traced, (torch.ones(2),), check_trace=False)
        assert host.hits == []
        torch.relu(torch.ones(1))
    assert len(host.hits) == 1 and host.notices == []
