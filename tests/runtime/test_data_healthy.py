"""Data breakpoints: what changes nothing that is watched stops nothing, and leaves no trace."""

from __future__ import annotations

import gc
import sys
import weakref
from typing import Any, Callable, ClassVar

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from watching import Host, data_breaking, watchable

from zentracer.control.pointed import by_expression
from zentracer.frameworks.base import ArmedData
from zentracer.frameworks.pytorch import PyTorch
from zentracer.frameworks.pytorch.data.info import info
from zentracer.frameworks.pytorch.data.ranges import Ranges
from zentracer.tensor_view.evaluate import Refused


def train(net: nn.Module, steps: int = 3) -> list[float]:
    torch.manual_seed(1)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        loss = net(torch.randn(6, 4)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def made() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.2), nn.Linear(4, 1))


QUIET: dict[str, Callable[[torch.Tensor], Any]] = {
    "reading": lambda x: (x + 1, x.sum(), x[0], x.clone().add_(1), x.numpy(), x.tolist()),
    "the same values": lambda x: (x.mul_(1), x.copy_(x.clone()), x.clamp_(-99, 99)),
    "the same values in other memory": lambda x: setattr(x, "data", x.data.clone()),
    "another part": lambda x: x[4:].add_(1),
    "minus zero": lambda x: x[0].zero_().neg_(),
    "made from it": lambda x: torch.from_numpy(x.numpy().copy()).add_(1),
    "evaluation": lambda x: F.batch_norm(torch.randn(5, 4), x[0], x[1] + 1, training=False),
    "no largest norm": lambda x: F.embedding(torch.tensor([0]), x),
    "not in place": lambda x: F.relu(x - 1, inplace=False),
}


@pytest.mark.parametrize("what", QUIET)
def test_no_change(what: str) -> None:
    x = torch.arange(32.0).reshape(8, 4) - 2
    x[0] = 0
    with data_breaking(sys._getframe(), "x[:4]", "x[2, 1]") as host, torch.no_grad():
        QUIET[what](x)
        torch.ones(2)
    assert host.hits == [] and host.notices == []
    assert all(status.verified for status in host.statuses.values())


def test_tensor_of_the_same_address_later() -> None:
    x = torch.zeros(1000)
    with data_breaking(sys._getframe(), "x") as host:
        del x
        for _ in range(5):
            torch.zeros(1000).add_(1)
    assert host.hits == []


def test_losses_are_the_same_bits() -> None:
    plain = train(made())
    net = made()
    with data_breaking(
        sys._getframe(), "net[0].weight if changed > 9", "net[1].running_var if nan > 0",
        "net[3].weight.grad if norm > 1e9", "net[0].weight[0, 1] if norm > 1e9",
    ) as host:  # fmt: skip
        watched = train(net)
    assert watched == plain
    assert host.hits == [] and host.notices == []


def test_no_trace_is_left() -> None:
    net = made()
    before = {key: list(module.__dict__) for key, module in net.named_modules()}
    setter, call = nn.Module.__setattr__, nn.Module.__call__
    with data_breaking(sys._getframe(), "net[0].weight if changed > 9", "net[1].running_mean"):
        assert nn.Module.__setattr__ is not setter
    assert (nn.Module.__setattr__, nn.Module.__call__) == (setter, call)
    assert {key: list(module.__dict__) for key, module in net.named_modules()} == before
    assert torch._C._len_torch_function_stack() == 0


def test_nothing_is_kept_alive_and_the_end_is_told() -> None:
    net, array = made(), np.zeros(4)
    x = torch.zeros(3)
    with data_breaking(
        sys._getframe(), "net[0].weight[1]", "x", "array", "net[1].running_mean", "net[3].bias.grad"
    ) as host:
        train(net)
        host.hits.clear()
        host.shown.clear()
        gone = [weakref.ref(one) for one in (net[0].weight, x, array)]
        del net, x, array
        gc.collect()
        assert [reference() for reference in gone] == [None] * 3
        train(made(), 1)
    assert host.hits == []
    for number, label in enumerate(("net[0].weight[1]", "x", "array", "net[1].running_mean"), 1):
        assert (host.statuses[number].message or "").startswith(f"{label} is gone (freed at step ")
    assert not any(host.statuses[number].verified for number in (1, 2, 3, 4))


def test_follows_its_place() -> None:
    net = made()
    with data_breaking(sys._getframe(), "net[0].weight", "net[0].weight[1, 1]") as host:
        net[0].weight = nn.Parameter(torch.zeros(4, 4))
        with torch.no_grad():
            net[0].weight[1, 1] = 5
        net[0].weight = nn.Parameter(torch.zeros(1, 1))
    assert [hit.text.partition(" (")[0] for hit in host.hits] == [
        "net[0].weight holds another tensor now, by assignment",
        "net[0].weight changed by x[...] =",
        "net[0].weight holds another tensor now, by assignment",
    ]
    assert host.hits[1].breakpoint_ids == (1, 2)
    assert host.hits[2].text.endswith("shape [4, 4] became [1, 1]")


WHY_NOT = {
    "number": "`number` is of type float: data breakpoints watch the memory of tensors",
    "net": "`net` is a module: watch one of its parameters, such as 0.weight.",
    "net[0].weight + 1": "`net[0].weight + 1` is made anew each time it is evaluated",
    "net[0].weight[[0, 2]]": "copies elements into a new tensor",
    "empty": "`empty` has no elements.",
    "meta": "`meta` has no values to watch: meta: no data.",
    "sparse": "cannot be watched as a whole (sparse_coo 0 stored)",
    "words": "`words` has no values to watch: its elements are of type ",
    "missing": "NameError",
    "net[0].": "SyntaxError",
}


@pytest.mark.parametrize("expression", WHY_NOT)
def test_what_cannot_be_watched(expression: str) -> None:
    names = {
        "number": 0.5,
        "net": made(),
        "empty": torch.zeros(0),
        "meta": torch.zeros(2, device="meta"),
        "sparse": torch.zeros(2, 2).to_sparse(),
        "words": np.array(["a"]),
    }
    try:
        data_id, said = info(by_expression(expression, names, {}))
    except Refused as refused:
        data_id, said = None, str(refused)
    assert data_id is None
    assert WHY_NOT[expression] in said


def test_same_target_has_the_same_id() -> None:
    net, w = made(), torch.zeros(4, 4)
    frame = sys._getframe()
    for expression in ("net[0].weight", "w", "w[1]", "w[1:3, 0]", "net[0].weight.grad"):
        assert watchable(expression, frame) == watchable(expression, frame)
    assert watchable("w[1]", frame) != watchable("w[2]", frame)
    assert watchable("w[0:2, 1][0]", frame)[0] == watchable("w[0, 1]", frame)[0]
    del net, w


def test_ranges_find_what_a_simple_search_finds() -> None:
    torch.manual_seed(0)
    pairs = torch.stack((torch.randint(0, 500, (300,)), torch.randint(1, 90, (300,))), 1).tolist()
    entries = [((low, low + length), number) for number, (low, length) in enumerate(pairs)]
    ranges = Ranges(entries)
    for start in range(0, 600, 7):
        written = (start, start + start % 40 + 1)
        expected = [n for (low, high), n in entries if low < written[1] and written[0] < high]
        assert sorted(ranges.touching(written)) == expected


class Held:
    """A linear layer with a gradient, a buffer and an attribute; each can be bound anew."""

    def __init__(self) -> None:
        self.fc = nn.Linear(3, 3)
        self.fc.register_buffer("buffer", torch.zeros(3))
        self.attribute = torch.zeros(3)
        self.bind(0.0)

    def bind(self, value: float) -> None:
        self.fc.weight.grad = torch.full((3, 3), value)
        self.fc.buffer = torch.full((3,), value)
        self.attribute = torch.full((3,), value)


PLACES = ["held.fc.weight.grad", "held.fc.buffer", "held.attribute", "held.attribute[1]"]


@pytest.mark.parametrize("expression", PLACES)
def test_place_that_holds_another_tensor_when_it_is_asked_for_again(expression: str) -> None:
    held = Held()
    first, said = watchable(expression, sys._getframe())
    held.bind(1.0)
    assert watchable(expression, sys._getframe()) == (first, said) and first is not None


@pytest.mark.parametrize("is_kept", [False, True])
@pytest.mark.parametrize("expression", PLACES)
def test_bound_anew_while_the_breakpoint_is_disabled(expression: str, is_kept: bool) -> None:
    held = Held()
    kept = (held.fc.weight.grad, held.fc.buffer, held.attribute) if is_kept else ()
    data_id, _ = watchable(expression, sys._getframe())
    assert data_id is not None
    host = Host()
    framework = PyTorch(host)
    armed = (ArmedData(1, data_id),)
    try:
        framework.break_on(armed)
        framework.break_on(())
        held.bind(1.0)
        (status,) = framework.break_on(armed)
        assert status.verified
        held.fc(torch.ones(3)).sum().backward(inputs=[held.fc.bias])
        assert host.hits == []
        with torch.no_grad():
            for x in (held.fc.weight.grad, held.fc.buffer, held.attribute):
                assert isinstance(x, torch.Tensor)
                x.add_(1)
        assert len(host.hits) == 1 and host.notices == []
    finally:
        framework.disarm()
    del kept


class Logged(torch.Tensor):
    """A subclass that notes what is called on it."""

    calls: ClassVar[list[str]] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.calls.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})


def test_subclass_sees_no_look_at_it() -> None:
    w, x = torch.zeros(5), torch.zeros(3).as_subclass(Logged)
    Logged.calls.clear()
    with data_breaking(sys._getframe(), "w") as host:
        x.add_(1)
        x[0] = 2
        torch.add(w[:3], 1, out=x)
    assert Logged.calls == ["add_", "__setitem__", "add"]
    assert host.hits == [] and host.notices == []


def calls_of_a_step(size: int) -> int:
    """Return how many functions run in a step in which so many gradients are watched."""
    tensors = [nn.Parameter(torch.ones(2)) for _ in range(size)]
    optimizer = torch.optim.SGD(tensors, lr=0.1)
    count = 0

    def step() -> None:
        optimizer.zero_grad()
        torch.stack([x.sum() for x in tensors]).sum().backward()

    def counted(_frame: Any, event: str, _what: Any) -> None:
        nonlocal count
        count += event == "call"

    step()
    texts = [f"tensors[{at}].grad if step > 99" for at in range(size)]
    with data_breaking(sys._getframe(), *texts) as host:
        step()
        sys.setprofile(counted)
        try:
            step()
        finally:
            sys.setprofile(None)
    assert host.hits == [] and host.notices == []
    return count


def test_many_gradients_cost_in_proportion_to_their_number() -> None:
    calls_of_a_step(2)
    assert calls_of_a_step(400) < 4.5 * calls_of_a_step(100)


def test_what_was_asked_for_is_named_though_another_has_the_same_memory() -> None:
    weight = torch.zeros(3)
    same = weight.view(3)
    names = {"weight": weight, "same": same}
    first, _ = info(by_expression("same", names, {}))
    again, said = info(by_expression("weight", names, {}))
    assert (first is None, again is None) == (False, False)
    assert said.startswith("weight · float32[3]")
