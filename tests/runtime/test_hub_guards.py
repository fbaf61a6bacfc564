"""Whatever goes wrong around the detectors, the program goes on and nothing of it is kept."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn
from torch.utils.data import DataLoader

from tests.runtime.watching import EVERYTHING, Host, watching_for
from zentracer.frameworks.base import ArmedFilter
from zentracer.frameworks.pytorch import PyTorch
from zentracer.frameworks.pytorch.training.advice.clipping import Clipping
from zentracer.frameworks.pytorch.training.advice.progress import Progress


def train(model: nn.Module, steps: int) -> None:
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.ones(3, 4)).sum().backward()
        optimizer.step()


def test_a_loader_that_cannot_be_a_key_is_iterated() -> None:
    @dataclass
    class Loader(DataLoader[Any]):
        length: int

        def __post_init__(self) -> None:
            super().__init__(range(self.length))  # type: ignore[arg-type]

    with watching_for("loss_spike") as host:
        assert len(list(Loader(3))) == 3
    assert len(host.notices) == 1 and "count this pass" in host.notices[0]


def test_a_number_that_cannot_be_used_ends_no_training() -> None:
    host = Host()
    framework = PyTorch(host)
    framework.arm((ArmedFilter(1, "zentracer.loss_spike", None),), precise=False)
    try:
        assert framework._watch is not None
        framework._watch.defer_cpu = True
        framework.logged("loss", torch.empty(0))
        train(nn.Linear(4, 2), 3)
    finally:
        framework.disarm()
    assert len(host.notices) == 1 and "what a device has computed" in host.notices[0]


def test_a_step_that_raises_keeps_nothing_alive() -> None:
    class Failing(torch.optim.SGD):
        def step(self, closure: Any = None) -> None:
            raise ValueError("no step")

    def attempt() -> weakref.ref[object]:
        model = nn.Linear(4, 2)
        optimizer = Failing(model.parameters(), 0.1)
        model(torch.ones(3, 4)).sum().backward()
        with pytest.raises(ValueError):
            optimizer.step()
        return weakref.ref(model)

    with watching_for(*EVERYTHING) as host:
        attempts = [attempt() for _ in range(20)]
        train(nn.Linear(4, 2), 1)
        gc.collect()
        assert sum(model() is not None for model in attempts) < 17
    gc.collect()
    assert not any(model() for model in attempts)
    assert not host.notices


def test_an_attribute_of_a_custom_function_is_no_leaf() -> None:
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:  # type: ignore[override]
            ctx.variable = 3
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:  # type: ignore[override]
            return gradient * 2

    model = nn.Linear(4, 2)
    with watching_for(*EVERYTHING, "exploding:norm > 0", advice=True) as host:
        Doubled.apply(model(torch.ones(3, 4))).sum().backward()
    assert host.hits
    assert not host.notices


def test_what_is_noted_of_a_long_run_is_bounded() -> None:
    host = Host(advice=True)
    framework = PyTorch(host)
    framework.arm((ArmedFilter(1, "zentracer.shape", None),), precise=False)
    try:
        assert framework._watch is not None
        detectors = framework._watch.training.detectors
        clipping = next(d for d in detectors if isinstance(d, Clipping))
        progress = next(d for d in detectors if isinstance(d, Progress))
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(40):
            for p in model.parameters():
                p.grad = torch.ones_like(p)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        for number in range(10_000):
            framework.logged("loss", 1.0 / (1 + number))
            framework.logged("val_loss", 1.0 + number)
            framework.logged(f"loss_{number}", 1.0)
    finally:
        framework.disarm()
    assert len(clipping._stepped) <= 16
    assert sum(map(len, progress._logged.values())) <= 3 * 4096
    assert not host.notices


@pytest.mark.parametrize("defer", [False, True])
def test_all_objects_are_looked_at_a_few_times_only(
    defer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_objects, looks = gc.get_objects, 0

    def counted() -> list[Any]:
        nonlocal looks
        looks += 1
        return all_objects()

    monkeypatch.setattr(gc, "get_objects", counted)
    body, head = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD(head.parameters(), 0.01)
    filters = ("stalled", "exploding:match('x.*') and norm > 1e9")
    with watching_for(*filters, advice=True, defer=defer) as host:
        for _ in range(48):
            x = torch.ones(3, 4, requires_grad=True)  # a leaf of its own in each step
            optimizer.zero_grad()
            body.zero_grad()
            head(body(x)).sum().backward()
            optimizer.step()
            with torch.no_grad():
                for p in body.parameters():
                    assert p.grad is not None
                    p -= 0.01 * p.grad
    assert looks <= 8
    assert not host.hits and not host.notices
