"""An interruption ends the work it is meant for, and nothing that comes after it."""

from __future__ import annotations

import queue
import random
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from zentracer.control.pydevd import guard, interrupt, turns
from zentracer.control.pydevd.interrupt import EvaluationInterrupted, Interruptible

ROUNDS = 3000


@pytest.fixture(autouse=True)
def eager_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def on_main(work: Callable[[], None]) -> None:
    work()


def on_another(work: Callable[[], None]) -> None:
    problems: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as problem:
            problems.append(problem)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert problems == []


@pytest.fixture(autouse=True)
def unraisable(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interruption may come while a destructor runs, where Python can only print it."""
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)


@pytest.mark.parametrize("call", [on_main, on_another])
@pytest.mark.parametrize("catches", [False, True])
def test_nothing_is_left_however_close_it_comes(call: Any, catches: bool) -> None:
    """A pest interrupts without pause: whatever leaks out of ``run`` fails the test."""
    ends = {True: 0, False: 0}
    current: list[Interruptible] = []
    over = threading.Event()

    def pest() -> None:
        while not over.is_set():
            for work in current[-1:]:
                work.interrupt()

    def rounds() -> None:
        for _ in range(ROUNDS):
            one = Interruptible()
            size = random.randrange(400)
            current[:] = [one]
            ends[one.run(lambda size=size: count(size, catches))] += 1
            sum(range(50))  # the program, which must not hear of it

    thread = threading.Thread(target=pest)
    thread.start()
    try:
        call(rounds)
    finally:
        over.set()
        thread.join()
    assert sum(ends.values()) == ROUNDS
    assert ends[True]  # and most of the others ended early, as the scheduler likes


def count(size: int, catches: bool) -> None:
    for _ in range(size):
        try:
            sum(range(3))
        except EvaluationInterrupted:
            if not catches:
                raise


def test_a_wait_of_the_main_thread_is_woken() -> None:
    one = Interruptible()
    waiting = queue.Queue[None]()
    began = threading.Event()

    def work() -> None:
        began.set()
        waiting.get()

    def end() -> None:
        began.wait()
        while not done:
            one.interrupt()

    done: list[bool] = []
    thread = threading.Thread(target=end)
    thread.start()
    done.append(one.run(work))
    thread.join()
    assert done == [False]


@pytest.mark.parametrize("call", [on_main, on_another])
@pytest.mark.parametrize("catches", [False, True])
def test_nothing_is_left_of_the_interruption_of_a_condition(
    call: Any, catches: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "AGAIN", 1e6)  # the pest alone interrupts, and never rests
    ends = {True: 0, False: 0}
    over = threading.Event()

    def failed(error: BaseException, _frame: object) -> bool:
        assert isinstance(error, EvaluationInterrupted)
        return False

    def condition(_frame: object) -> bool:
        with guard.evaluating():
            count(random.randrange(400), catches)
        return True

    def pest() -> None:
        while not over.is_set():
            for number, turn in turns._turns().items():
                turns._interrupt(number, turn)

    def rounds() -> None:
        gate = turns.watched(condition, turns.Subject("It", print, failed))
        for _ in range(ROUNDS):
            ends[gate(sys._getframe())] += 1
            sum(range(50))  # the program, which must not hear of it
        assert guard.state.evaluating == 0

    thread = threading.Thread(target=pest)
    thread.start()
    try:
        call(rounds)
    finally:
        over.set()
        thread.join()
    assert sum(ends.values()) == ROUNDS and ends[True]
    assert catches or ends[False]
    assert not interrupt.adopted
