"""``zt``: what a user may call in conditions, watches, log points and the debug console.

RUNS IN the user's training process. No framework is imported here, and nothing is put into the
user's namespaces: the debugger offers the name where it evaluates, and a variable of the user's
called ``zt`` wins.
"""

from __future__ import annotations

from types import FrameType
from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from zentracer.zt.helper import Helper

NAME = "zt"


def at(frame: Optional[FrameType], expression: str) -> Helper:
    """Return ``zt`` for one evaluation of ``expression`` in ``frame``."""
    from zentracer.zt.helper import Helper

    return Helper(frame, expression)
