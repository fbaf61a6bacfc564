"""From the numbers in DAP messages to the frames and values that pydevd has shown.

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
    debugger, number = _debugger(), _own_number(frame_id)
    if debugger is None or number is None:
        return None
    thread: Any = threading.current_thread()
    thread_id = sys.modules["_pydevd_bundle.pydevd_constants"].get_current_thread_id(thread)
    found = debugger.find_frame(thread_id, number)
    return found if isinstance(found, FrameType) else None


def row_of(reference: int, name: str) -> Any:
    """Return pydevd's variable (``value``, ``evaluate_name``) for a row below a reference.

    None if the program has gone on since it was shown.
    """
    debugger, number = _debugger(), _own_number(reference)
    if debugger is None or number is None:
        return None
    scope = number if hasattr(number, "scope") else None  # a frame's locals or its globals
    owner = number.variable_reference if scope is not None else number
    try:
        parent = debugger.suspended_frames_manager.get_variable(owner)
    except KeyError:
        return None
    return parent.get_child_variable_named(name, scope=scope)


def _debugger() -> Any:
    pydevd = sys.modules.get("pydevd")
    return pydevd.get_global_debugger() if pydevd is not None else None


def _own_number(dap_id: int) -> Any:
    schema = sys.modules["_pydevd_bundle._debug_adapter.pydevd_base_schema"].BaseSchema
    try:
        return schema._translate_id_from_dap(dap_id)
    except KeyError:
        return None
