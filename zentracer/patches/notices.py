"""Tell the user that a change has had no effect, with a debugger or without.

RUNS IN the user's training process.
"""

from __future__ import annotations

import sys
from typing import Any, Set

_told: Set[str] = set()


def tell(message: str) -> None:
    """Say it once: in the editor, or where the program writes its errors."""
    bootstrap: Any = sys.modules.get("zentracer.bootstrap")
    runtime = getattr(bootstrap, "_runtime", None)
    if runtime is not None:
        runtime.notice(message)
    elif message not in _told and sys.stderr is not None:
        _told.add(message)
        print(f"ZenTracer: {message}", file=sys.stderr)
