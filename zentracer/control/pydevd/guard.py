"""Keeps the debugger's work, the program's work and ours apart.

RUNS IN the training process. What a condition or the debug console computes must not be taken
for the program's own work: no finding there, and no stop inside of a stop. And a step must not
wander into what our hooks call, whatever ``justMyCode`` says.
"""

from __future__ import annotations

import sys
import threading
from typing import Any


class _State(threading.local):
    evaluating = 0
    own = 0


state = _State()
"""Of the calling thread; ``state.evaluating`` is counted by ``evaluating`` and by conditions, which
cannot afford a context manager."""


def is_busy() -> bool:
    """Return whether the calling thread works for the debugger and not for the program.

    Hooks should then let everything pass.
    """
    if state.evaluating:
        return True
    if "pydevd" not in sys.modules:
        return False
    thread: Any = threading.current_thread()
    if getattr(thread, "is_pydev_daemon_thread", False):
        return True
    info = getattr(thread, "additional_info", None)
    # In the wait loop of a stop: an evaluation. Tracing, not by us: pydevd's own callback.
    return info is not None and bool(info.is_in_wait_loop or info.is_tracing > state.own)


class evaluating:
    """Context: the block is the debugger's own work (a condition, an assignment)."""

    __slots__ = ()

    def __enter__(self) -> None:
        state.evaluating += 1

    def __exit__(self, *_: object) -> None:
        state.evaluating -= 1


class own_work:
    """Context: the block is a hook's own analysis; steps and breakpoints pass over it.

    Our own frames are hidden anyway (``hidden.py``); this is for the library code they call.
    ``stop`` may be called inside. A hook must not run the user's code in it.
    """

    __slots__ = ("_info", "_resume")

    def __enter__(self) -> None:
        self._info: Any = None
        self._resume = False
        if "pydevd" not in sys.modules:
            return
        self._info = getattr(threading.current_thread(), "additional_info", None)
        if self._info is None:
            return
        self._resume = suspend_monitoring()
        self._info.is_tracing += 1
        state.own += 1

    def __exit__(self, *_: object) -> None:
        if self._info is not None:
            state.own -= 1
            self._info.is_tracing -= 1
            if self._resume:
                resume_monitoring()


def trace_switch() -> Any:
    """Return the ``sys.settrace`` of Python itself; pydevd's stand-in warns whoever calls it."""
    tracing = sys.modules.get("pydevd_tracing")
    return getattr(tracing, "_original_settrace", sys.settrace)


def is_there() -> bool:
    """Return whether pydevd is loaded in this process."""
    return "_pydevd_bundle.pydevd_constants" in sys.modules


def uses_monitoring() -> bool:
    """Return whether pydevd traces by ``sys.monitoring`` (Python 3.12 and later)."""
    return bool(sys.modules["_pydevd_bundle.pydevd_constants"].PYDEVD_USE_SYS_MONITORING)


def monitoring() -> Any:
    """Return pydevd's ``sys.monitoring`` backend."""
    return sys.modules["_pydevd_sys_monitoring.pydevd_sys_monitoring"]


def suspend_monitoring() -> bool:
    """Untrace the calling thread; returns whether ``resume_monitoring`` is due."""
    return uses_monitoring() and bool(monitoring().suspend_current_thread_tracing())


def resume_monitoring() -> None:
    """Trace the calling thread again."""
    monitoring().resume_current_thread_tracing()
