"""Breakpoints in files inside of zip archives of any name: ``app.pyz/train.py``, wheels.

RUNS IN the training process. pydevd takes only ``.zip`` and ``.egg`` for archives, and a
breakpoint in a file that does not exist is refused.
"""

from __future__ import annotations

import functools
import os
import sys
import zipfile
from typing import Any, Callable, FrozenSet


def install(pydevd: Any, _notify: Callable[..., None]) -> None:
    """Extend ``pydevd_file_utils.exists``, which is asked when a breakpoint is set."""
    del pydevd
    files: Any = sys.modules["pydevd_file_utils"]
    original = files.exists

    @functools.wraps(original)
    def exists(filename: str) -> Any:
        return original(filename) or is_in_archive(filename)

    files.exists = exists


def is_in_archive(path: str) -> bool:
    """Return whether one of the folders of ``path`` is in truth a zip file that has the rest."""
    folder = os.path.dirname(path)
    while folder and not os.path.exists(folder) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    if not os.path.isfile(folder):
        return False
    inner = os.path.relpath(path, folder).replace(os.sep, "/")
    return inner in _names(folder, os.stat(folder).st_mtime_ns)


@functools.lru_cache(maxsize=16)
def _names(archive: str, _changed: int) -> FrozenSet[str]:
    try:
        with zipfile.ZipFile(archive) as opened:
            return frozenset(opened.namelist())
    except (OSError, zipfile.BadZipFile):
        return frozenset()
