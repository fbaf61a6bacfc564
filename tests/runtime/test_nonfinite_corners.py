"""Corner cases: masks that clean, positions that do not, transforms, threads, odd gradients."""

from __future__ import annotations

import inspect
import threading
from typing import Any, Callable

import pytest

torch = pytest.importorskip("torch")

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from tests.runtime.watching import watching

Function = Callable[[], object]
STOPS: dict[str, Function] = {}
PASSES: dict[str, Function] = {}


def stops(function: Function) -> Function:
    STOPS[function.__name__] = function
    return function


def passes(function: Function) -> Function:
    PASSES[function.__name__] = function
    return function


def certain() -> Tensor:
    return torch.softmax(torch.tensor([[200.0, 0.0]], requires_grad=True), -1)


@stops
def index_by_labels() -> None:
    logp = torch.log(certain())  # @bad
    (-logp[torch.arange(1), torch.tensor([1])].mean()).backward()


@stops
def index_by_a_name() -> None:
    labels = torch.tensor([1])
    logp = torch.log(certain())  # @bad
    (-logp[0, labels].mean()).backward()


@stops
def index_by_a_later_name() -> None:
    logp = torch.log(certain())  # @bad
    worst = logp.detach()[0].argmin()
    logp[0, worst].backward()


@stops
def store_by_position() -> Tensor:
    i = 0
    y = torch.log(torch.zeros(3))  # @bad
    y[i] = 0
    return y.sum()


@stops
def through_a_mode_of_the_users_own() -> None:
    class PassesOn(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None):  # type: ignore[no-untyped-def]
            return func(*args, **(kwargs or {}))

    with PassesOn():
        x = torch.tensor([0.0, 1.0], requires_grad=True) * 1
        y = x.sqrt()  # @bad
        y.sum().backward()


@stops
def whole_training_in_a_thread() -> None:
    def work() -> None:
        w = torch.tensor([0.0, 1.0], requires_grad=True)
        for _ in range(7):
            (w * 2).sum()
        y = torch.sqrt(w * 1)  # @bad
        y.sum().backward()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


@stops
def second_derivative() -> None:
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    y = x.abs() ** 1.5
    (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)  # @bad
    slope.sum().backward()


@stops
def inside_vmap() -> None:
    torch.func.vmap(lambda row: torch.log(row))(torch.zeros(2, 3))  # @bad


@stops
def update_by_a_sparse_gradient() -> None:
    table = nn.Embedding.from_pretrained(torch.zeros(3, 2), freeze=False, sparse=True)
    optimizer = torch.optim.SGD(table.parameters(), 1e38)
    (table(torch.tensor([1])) * 1e38).sum().backward()
    optimizer.step()  # @bad


@passes
def mask_by_a_later_name() -> Tensor:
    ratio = torch.tensor([1.0, 0.0]) / torch.tensor([1.0, 0.0])
    seen = ~torch.isnan(ratio)
    return ratio[seen].mean()


@passes
def mask_in_an_attribute() -> Tensor:
    class Batch:
        train_mask = torch.tensor([True, False])

    ratio = torch.tensor([1.0, 0.0]) / torch.tensor([1.0, 0.0])
    return ratio[Batch.train_mask].mean()


@passes
def cleaned_in_place_and_indexed() -> Tensor:
    row = torch.tensor([0, 1])
    scale = torch.tensor([0.0, 4.0]).pow(-0.5)
    scale.masked_fill_(scale == float("inf"), 0)
    return scale[row] * 2


@passes
def mask_in_a_frozen_parameter() -> None:
    net = nn.Linear(2, 2)
    net.mask = nn.Parameter(torch.full((2,), -torch.inf), requires_grad=False)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(3):
        optimizer.zero_grad()
        net(torch.ones(1, 2)).sum().backward()
        optimizer.step()


@passes
def uninitialised_by_new() -> Tensor:
    torch.use_deterministic_algorithms(True)  # fills with NaN
    try:
        return torch.ones(1).new(3, 4).zero_()
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("name", STOPS)
def test_stops_on_the_line(name: str) -> None:
    lines, first = inspect.getsourcelines(STOPS[name])
    (bad,) = [first + i for i, text in enumerate(lines) if "# @bad" in text]
    with watching() as host:
        STOPS[name]()
    assert [hit.details.origin.line for hit in host.hits[:1]] == [bad]
    assert host.notices == []


@pytest.mark.parametrize("name", PASSES)
def test_passes(name: str) -> None:
    with watching() as host:
        PASSES[name]()
    assert ([hit.text for hit in host.hits], host.notices) == ([], [])


@pytest.mark.parametrize("where", ["_look", "_first_suspicious"])
def test_a_mistake_of_ours_is_said_and_training_goes_on(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from zentracer.frameworks.pytorch.backward import Run
    from zentracer.frameworks.pytorch.mode import Watcher

    def broken(*_: object) -> None:
        raise ValueError("a mistake")

    monkeypatch.setattr(Watcher if where == "_look" else Run, where, broken)
    w = torch.tensor([1.0, 4.0], requires_grad=True)
    with watching() as host:
        torch.sqrt(w).sum().backward()
    assert w.grad is not None
    assert host.notices and all("a mistake" in notice for notice in host.notices)
