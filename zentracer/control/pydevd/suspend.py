"""Holds the calling thread on the current line of one of its frames, as a breakpoint would.

RUNS IN the training process, on the thread that computes.

``debugpy.breakpoint()`` from a hook stops at the user's *next* line, when the value has gone by;
``debugpy.trigger_exception_handler`` stops on the line, but loses a stop when two threads stop at
the same time and shows ``__exception__`` among the user's variables. This is the same sequence
that pydevd itself runs for an exception, with both mended.
"""

from __future__ import annotations

import sys
import threading
from types import FrameType, TracebackType
from typing import Any, Callable, Dict, Optional, Tuple

from zentracer.control.pydevd import channel, guard, release
from zentracer.wire.messages import Notice

_TRACING_REPLACED = (
    "The program has replaced sys.settrace(), which steps need; the debugger has taken it back."
)
_stop_types: Dict[str, type] = {}


def hold(
    frame: FrameType,
    lasti: Optional[int],
    label: str,
    text: str,
    announce: Callable[[], None],
) -> bool:
    """Stop on the current line of ``frame`` until the user resumes.

    Args:
        frame: a frame of the calling thread.
        lasti: instruction to mark within the line, None for the current one.
        label: becomes the exception's type name.
        text: becomes the exception's message and ``stopped.description``.
        announce: called just before ``stopped`` is sent, when no other stop can come between.

    Returns:
        False when there was nobody to stop for, or the debugger itself is at work here.
    """
    debugger = channel.attached_debugger()
    if debugger is None or guard.is_busy():
        return False
    thread = threading.current_thread()
    info = debugger.set_additional_thread_info(thread)
    _ensure_traced(debugger)
    # What pydevd runs on this thread while it is stopped must not be traced, or the first
    # ``evaluate`` would hang. Nothing of ours may run after the end of that, or a step would
    # find it: hence no context manager.
    resume = guard.suspend_monitoring()
    info.is_tracing += 1
    try:
        return _wait(debugger, thread, info, frame, _exception(frame, lasti, label, text), announce)
    finally:
        info.is_tracing -= 1
        if resume:
            guard.resume_monitoring()


def stops_so_far() -> int:
    """Return a number that changes whenever a thread is stopped, by a breakpoint or otherwise."""
    debugger = channel.attached_debugger()
    count = getattr(debugger, "_threads_suspended_single_notification", None)
    return getattr(count, "_suspend_time_request", 0)


def _wait(
    debugger: Any,
    thread: Any,
    info: Any,
    frame: FrameType,
    exception: Tuple[type, BaseException, TracebackType],
    announce: Callable[[], None],
) -> bool:
    while not _claim(debugger, thread, info):
        # Another thread has stopped the program: wait with it, then make our own stop.
        debugger.do_wait_suspend(thread, frame, "line", None)
        if channel.attached_debugger() is not debugger:
            return False
        release.wait_until_told(debugger)
    announce()
    handled = _constant("EXCEPTION_TYPE_HANDLED")
    debugger.do_wait_suspend(thread, frame, "exception", exception, handled)
    if (
        info.pydev_step_cmd != -1
        and not guard.uses_monitoring()
        and not _is_pydevds(sys.gettrace())
    ):
        channel.send_event("notice", Notice(message=_TRACING_REPLACED))
        debugger.enable_tracing()
    return True


def _claim(debugger: Any, thread: Any, info: Any) -> bool:
    """Make this the stop of the whole program; False if another thread was first.

    The check and the claim are one step under pydevd's own lock. ``PyDB.set_suspend`` would
    overwrite the other thread's stop instead, and one of the two would be lost.
    """
    lifecycle = sys.modules["_pydevd_bundle.pydevd_thread_lifecycle"]
    comm_constants = sys.modules["_pydevd_bundle.pydevd_comm_constants"]
    with lifecycle.suspend_threads_lock:
        if info.pydev_state == lifecycle.STATE_SUSPEND:
            return False
        if release.stands_behind(debugger, thread):
            # It runs only for an evaluation of the stopped thread: the stop comes after that one's.
            lifecycle.mark_thread_suspended(
                thread, comm_constants.CMD_THREAD_SUSPEND, main_suspend=False
            )
            return False
        debugger._threads_suspended_single_notification.increment_suspend_time()
        lifecycle.mark_thread_suspended(thread, comm_constants.CMD_STEP_CAUGHT_EXCEPTION)
        if debugger.multi_threads_single_notification:
            lifecycle.suspend_all_threads(debugger, except_thread=thread)
    if guard.uses_monitoring():
        guard.monitoring().restart_events()
    return True


def _ensure_traced(debugger: Any) -> None:
    """Let pydevd know a thread that it did not see start, such as autograd's own.

    A tracing function of somebody else's is left alone until the user asks for a step.
    """
    if not guard.uses_monitoring() and sys.gettrace() is None:
        debugger.enable_tracing()


def _is_pydevds(trace: Any) -> bool:
    module = getattr(trace, "__module__", None) or type(trace).__module__
    return module.startswith(("_pydevd", "pydevd"))


def _exception(
    frame: FrameType, lasti: Optional[int], label: str, text: str
) -> Tuple[type, BaseException, TracebackType]:
    cls = _stop_types.get(label)
    if cls is None:
        cls = _stop_types[label] = type(label, (Exception,), {"__module__": "builtins"})
    instruction = frame.f_lasti if lasti is None else lasti
    return cls, cls(text), TracebackType(None, frame, instruction, frame.f_lineno)


def _constant(name: str) -> Any:
    return getattr(sys.modules["_pydevd_bundle.pydevd_constants"], name)
