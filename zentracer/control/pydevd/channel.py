"""Debugpy's own connection to the editor: whether it is there, and events on it.

RUNS IN the training process. Events sent here are in order with debugpy's own ``stopped``.
"""

from __future__ import annotations

import sys
from typing import Any

from zentracer.wire.codec import to_json


def attached_debugger() -> Any:
    """Return pydevd's debugger if an editor is attached, else None."""
    pydevd = sys.modules.get("pydevd")
    debugger = pydevd.get_global_debugger() if pydevd is not None else None
    if debugger is None or debugger.pydb_disposed or not debugger.is_attached():
        return None
    return debugger


def send_event(name: str, body: Any) -> bool:
    """Send the DAP event ``zentracer/<name>``; returns False when nobody is attached."""
    if attached_debugger() is None:
        return False
    message = {"type": "event", "event": f"zentracer/{name}", "body": to_json(body)}
    return bool(sys.modules["pydevd"].send_json_message(message))
