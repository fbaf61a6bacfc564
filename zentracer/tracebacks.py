"""Tracebacks of uncaught exceptions that begin at the user's program.

RUNS IN the training process. debugpy starts the program through runpy and its own modules, whose
frames would head every traceback; without them it reads as under plain Python.
"""

from __future__ import annotations

import os
import sys
import threading
from types import CodeType, TracebackType
from typing import Iterator, Optional, Set, Type

from zentracer.control.pydevd.hidden import own_folders

_hidden: Set[CodeType] = set()


def install() -> None:
    """Wrap the hooks of uncaught exceptions; one that the program sets itself replaces ours."""
    show = sys.excepthook

    def hook(
        kind: Type[BaseException], error: BaseException, traceback: Optional[TracebackType]
    ) -> None:
        trimmed = without_ours(without_launcher(traceback))
        show(kind, error.with_traceback(trimmed), trimmed)

    sys.excepthook = hook
    show_thread = threading.excepthook

    def thread_hook(args: threading.ExceptHookArgs) -> None:
        without_ours(args.exc_traceback)  # in place: what heads it is Python's own
        show_thread(args)

    threading.excepthook = thread_hook


def without_launcher(traceback: Optional[TracebackType]) -> Optional[TracebackType]:
    """Drop the outermost entries up to the program's first."""
    while traceback is not None and _is_launcher(traceback.tb_frame.f_code.co_filename):
        traceback = traceback.tb_next
    return traceback


def without_ours(traceback: Optional[TracebackType]) -> Optional[TracebackType]:
    """Drop the entries of our hooks, which torch calls go through while something is armed."""
    kept = [entry for entry in _entries(traceback) if not _is_ours(entry)]
    for entry, following in zip(kept, [*kept[1:], None]):
        if entry.tb_next is not following:
            entry.tb_next = following
    return kept[0] if kept else traceback


def _entries(traceback: Optional[TracebackType]) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def hide(code: CodeType) -> None:
    """Leave out entries of ``code``: ours, in a file of somebody else's."""
    _hidden.add(code)


def _is_ours(traceback: TracebackType) -> bool:
    if traceback.tb_frame.f_code in _hidden:
        return True
    path = os.path.abspath(traceback.tb_frame.f_code.co_filename)
    return path.startswith(own_folders())


def _is_launcher(filename: str) -> bool:
    if filename == "<frozen runpy>":
        return True
    parts = os.path.normpath(filename).split(os.sep)
    return parts[-1] == "runpy.py" or "debugpy" in parts[:-1]
