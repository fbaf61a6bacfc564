"""Breakpoints on threads that Python did not start, such as those of C++ engines.

RUNS IN the training process, before Python 3.12. There tracing belongs to a thread, and Python
says nothing when a thread of somebody else's makes its first call. So while a line breakpoint is
set, a thread of ours looks now and then whether there is one, and libraries whose native threads
come through Python code of theirs ask for ``ensure_traced`` there, which comes in time for the
first call. From Python 3.12 on the debugger sees all threads.
"""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import Any, Callable, Dict, Optional

from zentracer.control.pydevd import channel, guard, lines

LOOK_SECONDS = 0.02
"""How long the first call of a native thread may go unnoticed.

One look takes 2.3 us with ten threads.
"""

_looking: Optional[threading.Thread] = None


def install(pydevd: Any, _notify: Callable[..., None]) -> None:
    """Look for native threads while there are line breakpoints."""
    if guard.uses_monitoring():
        return
    if not callable(pydevd.PyDB.get_thread_local_trace_func):
        raise TypeError("PyDB.get_thread_local_trace_func is not a method")
    lines.on_change(_breakpoints_changed)


def ensure_traced() -> None:
    """Let the debugger see the calling thread, if there are line breakpoints."""
    if guard.uses_monitoring() or sys.gettrace() is not None:
        return
    debugger = channel.attached_debugger()
    if debugger is not None and lines.are_there_any() and not guard.is_busy():
        debugger.enable_tracing()


def _breakpoints_changed() -> None:
    global _looking
    if not lines.are_there_any() or (_looking is not None and _looking.is_alive()):
        return
    thread: Any = threading.Thread(target=_look, name="ZenTracer native threads", daemon=True)
    thread.pydev_do_not_trace = thread.is_pydev_daemon_thread = True
    _looking = thread
    thread.start()


def _look() -> None:
    wait = threading.Event()  # never set: a pause that the program's own time.sleep cannot change
    known: Dict[int, int] = {}
    while lines.are_there_any():
        known = _traced(known)
        wait.wait(LOOK_SECONDS)


def _traced(known: Dict[int, int]) -> Dict[int, int]:
    """Trace the native threads that are not ``known``; returns those there are.

    An identity is used again once its thread is gone, so the outermost frame belongs to it.
    """
    found: Dict[int, int] = {}
    for ident, frame in sys._current_frames().items():
        thread = threading._active.get(ident)  # type: ignore[attr-defined]
        if thread is None or isinstance(thread, threading._DummyThread):
            found[ident] = id(_outermost(frame))
    fresh = [ident for ident, root in found.items() if known.get(ident) != root]
    debugger = channel.attached_debugger()
    if fresh and debugger is not None:
        tracing = sys.modules["pydevd_tracing"]
        tracing.set_trace_to_threads(debugger.get_thread_local_trace_func(), thread_idents=fresh)
    return found


def _outermost(frame: FrameType) -> FrameType:
    while frame.f_back is not None:
        frame = frame.f_back
    return frame
