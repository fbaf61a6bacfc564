"""Pauses that the user did not ask for: those of ranks that are held while another one is stopped.

RUNS IN the training process. Stock debugpy 1.8.22 has two habits that do not matter to somebody
who pressed *Pause*, but would make a rank run past a breakpoint or report it as something else:

- It remembers a pause until a thread stops. When the program is let go on first, the next
  breakpoint is reported as a pause of whichever thread stops first. Here a resumption takes the
  pause back.
- A pause that takes effect just at the line of a breakpoint is all that is reported. Here the
  breakpoint follows when the rank goes on.
"""

from __future__ import annotations

import os
import sys
import threading
from types import FrameType
from typing import Any, Callable, Optional

from zentracer.control.pydevd import conditions

_SUSPENDED = 2
"""pydevd's STATE_SUSPEND"""
_RUNS_ON = -1
"""pydevd's ``pydev_step_cmd`` of a thread that was let go on, rather than to step."""


class _Told(threading.local):
    """Why this thread stands or stood, as pydevd's number of a command; None once looked at."""

    reason: Optional[int] = None


def install(pydevd: Any, _notify: Callable[..., None]) -> None:
    """Mend both habits, the second one in the ranks of a distributed run."""
    if "_pause_requested" not in pydevd.AbstractSingleNotificationBehavior.__slots__:
        raise TypeError("pydevd remembers a pause elsewhere")
    _take_back(pydevd)
    _follow_up(pydevd)


def _take_back(pydevd: Any) -> None:
    from _pydevd_bundle.pydevd_api import PyDevdAPI

    original = PyDevdAPI.request_resume_thread

    def request_resume_thread(self: Any, thread_id: str) -> Any:
        debugger = pydevd.get_global_debugger()
        if debugger is not None:
            debugger._threads_suspended_single_notification._pause_requested = False
        return original(self, thread_id)

    PyDevdAPI.request_resume_thread = request_resume_thread


def _follow_up(pydevd: Any) -> None:
    original = pydevd.PyDB.do_wait_suspend
    constants: Any = sys.modules["_pydevd_bundle.pydevd_comm_constants"]
    told = _Told()
    _note_reasons(pydevd.ThreadsSuspendedSingleNotification, told)

    def do_wait_suspend(
        self: Any, thread: Any, frame: FrameType, event: str, *args: Any, **kwargs: Any
    ) -> Any:
        result = original(self, thread, frame, event, *args, **kwargs)
        reason, told.reason = told.reason, None
        if reason != constants.CMD_THREAD_SUSPEND or event != "line" or "RANK" not in os.environ:
            return result
        info = thread.additional_info
        reached = _breakpoint_at(self, frame)
        steps = info.pydev_step_cmd != _RUNS_ON and info.pydev_state != _SUSPENDED
        if steps or reached is None:  # a rank that is to be held again takes no step either
            return result
        if not conditions.gate_of(reached)(frame):
            return result
        info.hit_breakpoint_ids = [reached.breakpoint_id]
        self.set_suspend(
            thread, constants.CMD_SET_BREAK, suspend_other_threads=reached.suspend_policy == "ALL"
        )
        return original(self, thread, frame, event, *args, **kwargs)

    pydevd.PyDB.do_wait_suspend = do_wait_suspend


def _note_reasons(notification: Any, told: _Told) -> None:
    """Note for what each thread is said to stand.

    ``thread.stop_reason`` does not tell: a pause may change it until pydevd reads it, and after.
    """
    original = notification.notify_thread_suspended

    def notify_thread_suspended(self: Any, thread_id: Any, thread: Any, stop_reason: Any) -> Any:
        told.reason = stop_reason
        return original(self, thread_id, thread, stop_reason)

    notification.notify_thread_suspended = notify_thread_suspended


def _breakpoint_at(debugger: Any, frame: FrameType) -> Any:
    files: Any = sys.modules["pydevd_file_utils"]
    path = files.get_abs_path_real_path_and_base_from_file(frame.f_code.co_filename)[1]
    return (debugger.breakpoints.get(path) or {}).get(frame.f_lineno)
