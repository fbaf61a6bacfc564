"""Step, epoch, loss and optimiser are found in any style of training loop, without user code."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.programs.loops import LOOPS
from tests.runtime.watching import Host, watching_for
from zentracer.frameworks.pytorch.training import registry
from zentracer.frameworks.pytorch.training.detector import Detector
from zentracer.frameworks.pytorch.training.events import Update
from zentracer.wire.filters import STALLED


class Recorder(Detector):
    """Notes which optimiser has completed which step, in which epoch."""

    filter = STALLED
    seen: list[tuple[str, int | None, int | None]]

    def update_ended(self, update: Update) -> None:
        if update.is_step:
            name = type(update.optimizer).__mro__[0].__name__
            self.seen.append((name, self.training.watch.step, self.training.epoch(update.frame)))


def found(name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Host, list[Any], list[Any]]:
    """Run a loop; return the host, what the loop says of itself and what was found."""
    monkeypatch.setitem(registry.DETECTORS, STALLED.id, Recorder)
    Recorder.seen = []
    torch.manual_seed(3)
    with watching_for("nonfinite", "stalled") as host:
        taken = LOOPS[name].run()
    return host, taken, Recorder.seen


@pytest.mark.parametrize("name", LOOPS)
def test_found_without_user_code(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = LOOPS[name]
    host, taken, seen = found(name, monkeypatch)
    numbers = list(range(1, loop.steps + 1))
    last = {step.step: step.loss for step in host.steps}

    assert len(taken) == loop.steps
    assert list(last) == numbers
    for loss, step in zip(last.values(), taken):
        assert any(loss == pytest.approx(one) for one in step.losses)
    assert [step for _, step, _ in seen] == numbers
    assert {optimizer for optimizer, _, _ in seen} <= set(loop.optimisers)
    if loop.has_epochs:
        assert [epoch for _, _, epoch in seen] == [step.epoch for step in taken]
    assert host.notices == []
