"""Tracebacks of uncaught exceptions that begin at the user's program.

RUNS IN the training process. debugpy starts the program through runpy and its own modules, whose
frames would head every traceback; without them it reads as under plain Python.
"""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import Optional, Type


def install() -> None:
    """Wrap ``sys.excepthook``; a hook that the program sets itself replaces ours."""
    show = sys.excepthook

    def hook(
        kind: Type[BaseException], error: BaseException, traceback: Optional[TracebackType]
    ) -> None:
        trimmed = without_launcher(traceback)
        show(kind, error.with_traceback(trimmed), trimmed)

    sys.excepthook = hook


def without_launcher(traceback: Optional[TracebackType]) -> Optional[TracebackType]:
    """Drop the outermost entries up to the program's first."""
    while traceback is not None and _is_launcher(traceback.tb_frame.f_code.co_filename):
        traceback = traceback.tb_next
    return traceback


def _is_launcher(filename: str) -> bool:
    if filename == "<frozen runpy>":
        return True
    parts = os.path.normpath(filename).split(os.sep)
    return parts[-1] == "runpy.py" or "debugpy" in parts[:-1]
