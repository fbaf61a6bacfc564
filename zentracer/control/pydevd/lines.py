"""Line breakpoints that the user has set, for those who know that a line will not be reached.

RUNS IN the training process.
"""

from __future__ import annotations

import sys
from typing import Any, Callable, List, Optional, Tuple

_listeners: List[Callable[[], None]] = []


def install(pydevd: Any, _notify: Callable[..., None]) -> None:
    """Listen to ``PyDB.consolidate_breakpoints``, called whenever a file's breakpoints change."""
    original = pydevd.PyDB.consolidate_breakpoints

    def consolidate_breakpoints(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        for listener in list(_listeners):
            listener()
        return result

    pydevd.PyDB.consolidate_breakpoints = consolidate_breakpoints


def on_change(listener: Callable[[], None]) -> None:
    """Call ``listener``, which must not raise, after the breakpoints of a file have changed."""
    _listeners.append(listener)


def are_there_any() -> bool:
    """Return whether a line breakpoint is set anywhere."""
    pydevd = sys.modules.get("pydevd")
    debugger = pydevd.get_global_debugger() if pydevd is not None else None
    return debugger is not None and any(dict(debugger.breakpoints).values())


def breakpoints_between(path: str, first: int, last: int) -> List[Tuple[Optional[int], int]]:
    """Return (id, line) of the breakpoints on the lines ``first`` to ``last`` of ``path``."""
    pydevd = sys.modules.get("pydevd")
    debugger = pydevd.get_global_debugger() if pydevd is not None else None
    if debugger is None:
        return []
    name = sys.modules["pydevd_file_utils"].canonical_normalized_path(path)
    by_line = dict(debugger.breakpoints.get(name, {}))
    return [
        (getattr(found, "breakpoint_id", None), line)
        for line, found in sorted(by_line.items())
        if first <= line <= last
    ]
