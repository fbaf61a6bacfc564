"""Advice leaves no trace once nothing is armed, and keeps nothing of the program's alive."""

from __future__ import annotations

import gc
import weakref

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import LRScheduler, StepLR

from tests.runtime.watching import watching_for
from zentracer.frameworks.pytorch.training.advice import ADVISERS

TOUCHED = (
    (nn.Module, "__call__"),
    (nn.Module, "eval"),
    (nn.Module, "load_state_dict"),
    (LRScheduler, "step"),
)


def train(steps: int) -> list[weakref.ref[object]]:
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.1), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = StepLR(optimizer, 3)
    x, y = torch.randn(6, 4), torch.arange(6) % 3
    model.load_state_dict(dict(model.state_dict()), strict=False)
    for _ in range(steps):
        model.train()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            model(x)
    return [weakref.ref(thing) for thing in (model, optimizer, scheduler, x, loss)]


def test_disarming_puts_everything_back() -> None:
    before = [owner.__dict__[name] for owner, name in TOUCHED]
    with watching_for("nonfinite", advice=True) as host:
        during = [owner.__dict__[name] for owner, name in TOUCHED]
        train(4)
    assert all(a is not b for a, b in zip(before, during))
    assert [owner.__dict__[name] for owner, name in TOUCHED] == before
    assert (host.advice, host.hits, host.notices) == ([], [], [])


def test_nothing_is_touched_without_advice() -> None:
    before = [owner.__dict__[name] for owner, name in TOUCHED]
    with watching_for("nonfinite", advice=False):
        assert [owner.__dict__[name] for owner, name in TOUCHED] == before


def test_nothing_is_kept_alive() -> None:
    with watching_for("nonfinite", advice=True):
        things = train(8)
        gc.collect()
        assert [thing() for thing in things] == [None] * len(things)


def test_each_rule_has_a_name_of_its_own() -> None:
    names = [adviser.filter.id for adviser in ADVISERS]
    assert len(set(names)) == len(names)
    assert all(name.startswith("zentracer.advice.") for name in names)
