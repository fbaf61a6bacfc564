"""From the numbers in DAP messages to the rows that pydevd has shown.

RUNS IN the training process, on the stopped thread. pydevd numbers what it sends anew; the numbers
of a client mean nothing to its own tables.
"""

from __future__ import annotations

from typing import Any

from zentracer.control.pydevd.client_ids import current_debugger, own_number


def row_of(reference: int, name: str) -> Any:
    """Return pydevd's variable (``value``, ``evaluate_name``) for a row below a reference.

    None if the program has gone on since it was shown.
    """
    debugger, number = current_debugger(), own_number(reference)
    if debugger is None or number is None:
        return None
    scope = number if hasattr(number, "scope") else None  # a frame's locals or its globals
    owner = number.variable_reference if scope is not None else number
    try:
        parent = debugger.suspended_frames_manager.get_variable(owner)
    except KeyError:
        return None
    return parent.get_child_variable_named(name, scope=scope)
