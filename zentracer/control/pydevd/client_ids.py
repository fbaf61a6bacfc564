"""From the numbers in DAP messages to the frames that pydevd has shown.

RUNS IN the training process, on the stopped thread. pydevd numbers what it sends anew; the numbers
of a client mean nothing to its own tables.
"""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import Any, Optional


def frame_of(frame_id: int) -> Optional[FrameType]:
    """Return the frame of the calling thread that a client knows by ``frame_id``, if it is one."""
    debugger, number = current_debugger(), own_number(frame_id)
    if debugger is None or number is None:
        return None
    thread: Any = threading.current_thread()
    thread_id = sys.modules["_pydevd_bundle.pydevd_constants"].get_current_thread_id(thread)
    found = debugger.find_frame(thread_id, number)
    return found if isinstance(found, FrameType) else None


def current_debugger() -> Any:
    """Return pydevd's debugger; None where there is none."""
    pydevd = sys.modules.get("pydevd")
    return pydevd.get_global_debugger() if pydevd is not None else None


def own_number(dap_id: int) -> Any:
    """Return pydevd's own number of a frame or a row; None if the client made it up."""
    schema = sys.modules["_pydevd_bundle._debug_adapter.pydevd_base_schema"].BaseSchema
    try:
        return schema._translate_id_from_dap(dap_id)
    except KeyError:
        return None
