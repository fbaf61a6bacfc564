"""Work that another thread asks of the main thread is done once, however much is asked."""

from __future__ import annotations

import threading

import pytest

torch = pytest.importorskip("torch")

from zentracer.frameworks.pytorch.main_thread import on_main_thread, soon_on_main_thread

ACTIONS = 3000


def plain() -> None:
    """Be a call of the program's own."""


def test_a_flood_is_done_once_each_on_the_main_thread() -> None:
    done: list[tuple[int, threading.Thread]] = []
    all_done = threading.Event()

    def action(number: int) -> None:
        done.append((number, threading.current_thread()))
        if len(done) == ACTIONS:
            all_done.set()

    def ask() -> None:
        for number in range(ACTIONS):
            how = soon_on_main_thread if number % 3 else on_main_thread
            how(lambda number=number: action(number))

    asking = threading.Thread(target=ask)
    asking.start()
    x = torch.ones(2)
    while not all_done.is_set():
        x = x + 0  # here another thread gets its turn, and asks
        plain()  # the next place where the interpreter looks for what was asked
        torch.overrides.is_tensor_like(x)  # a file of torch's, where nothing may be done
    asking.join()
    assert sorted(number for number, _thread in done) == list(range(ACTIONS))
    assert {thread for _number, thread in done} == {threading.main_thread()}
