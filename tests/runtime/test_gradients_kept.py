"""Gradient and loss filters keep nothing of the program's alive, not even what they have told."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.runtime.watching import EVERYTHING, watching_for
from zentracer.frameworks.pytorch.watch import Watch

FILTERS = ("exploding", "vanishing", "loss_spike", "exploding:norm > 0", "loss_spike:x > 0")


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def step(net: nn.Module, optimizer: torch.optim.Optimizer) -> list[weakref.ref[Tensor]]:
    x = torch.randn(8, 4)
    hidden = net(x)
    loss = F.mse_loss(hidden, x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    gradients = [p.grad for p in net.parameters() if p.grad is not None]
    return [weakref.ref(tensor) for tensor in (x, hidden, loss, *gradients)]


@pytest.mark.parametrize("late", [False, True])
def test_a_step_leaves_nothing(late: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if late:
        monkeypatch.setattr(Watch, "defers", lambda self, x: True)
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    with watching_for(*FILTERS) as host:
        for _ in range(4):
            references = step(net, optimizer)
            optimizer.zero_grad()
            assert [reference() for reference in references if reference() is not None] == []
        assert host.hits and host.notices == []


def train() -> list[weakref.ref[object]]:
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    for _ in range(25):
        step(net, optimizer)
    return [weakref.ref(thing) for thing in (net, optimizer, *net.parameters())]


def test_a_model_and_its_optimiser_go() -> None:
    with watching_for(*FILTERS) as host:
        gone = train()
        gc.collect()
        assert [reference() for reference in gone if reference() is not None] == []
        assert host.hits and host.notices == []


def train_in_one_function() -> list[bool]:
    """Return of each batch whether it is still alive while the function runs."""
    net = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 12)
    batches: list[weakref.ref[Tensor]] = []
    for _ in range(3):
        for _ in range(4):
            x = torch.randn(8, 4)
            batches.append(weakref.ref(x))
            F.mse_loss(net(x), x).backward()
            assert net.weight.grad is not None
            optimizer.step()
            optimizer.zero_grad()
            scheduler.step()
            del x
    return [batch() is not None for batch in batches]


def test_variables_that_were_read_are_not_kept_by_their_frame() -> None:
    with watching_for(*EVERYTHING, advice=True) as host:
        assert not any(train_in_one_function())
    assert host.notices == []
