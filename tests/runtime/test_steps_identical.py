"""A step that is timed computes the same bits and finds the same as any other."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).parent))

import test_nonfinite_identical as identical
import test_nonfinite_seeded as seeded
from watching import Host, watching

from zentracer.frameworks.pytorch.mode import Watcher
from zentracer.frameworks.pytorch.overhead import Overhead
from zentracer.frameworks.pytorch.timed import TimedWatcher
from zentracer.frameworks.pytorch.watch import Watch

one_thread = identical.one_thread


@pytest.fixture(autouse=True)
def everything_is_timed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Time from the first torch call on, also where no optimiser works."""
    timed: list[Any] = []
    enter, begin = Watch.enter_thread, Overhead._begin

    def enter_thread(watch: Watch) -> Watcher:
        watcher = enter(watch)
        if watch.meter is None and watch.filters:
            begin(watch.steps.overhead)
            timed.append(watch.meter)
        return watcher

    monkeypatch.setattr(Watch, "enter_thread", enter_thread)
    monkeypatch.setattr(Overhead, "seconds_between", 0.0)
    monkeypatch.setattr(Overhead, "steps_between", 1)
    yield timed
    assert timed, "nothing was timed"


@contextmanager
def timed_watching() -> Iterator[Host]:
    with watching() as host:
        assert [type(x) for x in torch.overrides._get_current_function_mode_stack()] == [
            TimedWatcher
        ]
        yield host


@pytest.mark.parametrize("name", identical.PROGRAMS)
def test_same_bits_in_timed_steps(name: str) -> None:
    expected = identical.unwatched(name)
    with timed_watching() as host:
        assert identical.run(name) == expected
    assert host.notices == []
    assert [hit.text for hit in host.hits] == []


@pytest.mark.parametrize("name", seeded.seeded.FAULTS)
def test_fault_in_a_timed_step_is_blamed_on_its_line(name: str) -> None:
    seeded.test_fault_is_blamed_on_its_line(name, precise=False)


@pytest.mark.parametrize("name", seeded.seeded.HEALTHY)
def test_healthy_timed_step_is_left_alone(name: str) -> None:
    seeded.test_healthy_program_is_left_alone(name, precise=False)
