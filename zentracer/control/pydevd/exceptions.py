"""The exception at which the calling thread stands.

RUNS IN the training process, on a stopped thread, inside debugpy's ``evaluate``.
"""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import Any, Optional, Tuple

from zentracer.control.pydevd import channel


def stopped_exception() -> Tuple[Optional[BaseException], Optional[TracebackType]]:
    """Return the exception and its traceback; None if the thread stands for another reason."""
    debugger = channel.attached_debugger()
    if debugger is None:
        return None, None
    constants = sys.modules["_pydevd_bundle.pydevd_constants"]
    thread_id = constants.get_current_thread_id(threading.current_thread())
    frames: Any = debugger.suspended_frames_manager.get_frames_list(thread_id)
    error = getattr(frames, "exc_desc", None)
    if not issubclass(type(error), BaseException):
        return None, None
    return error, getattr(frames, "trace_obj", None)
