"""ZenTracer's part in the training process; ``import zentracer`` imports no framework.

RUNS IN the user's training process.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from zentracer.api import log, patch, step

__all__ = ["log", "patch", "step"]

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Load the user's API when it is first used: the debugger imports this package, too."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from zentracer import api

    found = globals()[name] = getattr(api, name)
    return found
