"""An interruption ends the work it is meant for, and nothing that comes after it."""

from __future__ import annotations

import queue
import random
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

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
