"""A forked child can use every lock of ours, whoever held it in the parent."""

from __future__ import annotations

import os
import threading
import types
from collections.abc import Callable
from typing import Any

import pytest

from tests.runtime.watching import Host
from zentracer.control.pydevd import conditions, functions, logpoints, turns
from zentracer.frameworks.pytorch import PyTorch
from zentracer.zt import changes

GATE = conditions._Gate(types.SimpleNamespace(condition=None, expression=None))
OWNERS: dict[str, Any] = {
    "hits": GATE,
    "log points": logpoints._rate,
    "functions": functions._named,
    "turns": turns._watch,
    "zt.changed": changes,
    "torch": PyTorch(Host()),
}


def in_child(check: Callable[[], bool]) -> bool:
    child = os.fork()
    if child == 0:
        os._exit(0 if check() else 1)
    return os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("name", OWNERS)
def test_a_lock_that_another_thread_holds(name: str) -> None:
    owner = OWNERS[name]
    held, forked = threading.Event(), threading.Event()

    def hold() -> None:
        with owner._lock:
            held.set()
            forked.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        assert not owner._lock.acquire(blocking=False)
        assert in_child(lambda: owner._lock.acquire(blocking=False))
    finally:
        forked.set()
        thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_what_a_log_point_left_out_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logpoints._rate, "_left_out", 3)
    assert in_child(lambda: not logpoints._rate._left_out)
