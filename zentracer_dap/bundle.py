"""Where the adapter's packages come from, whatever else the interpreter finds.

Imports little: it runs before anything else is loaded.

An editor's extension brings the packages along in one folder, with a file ``BUNDLE`` in it, and
runs them with the user's interpreter. What that has installed may be older or newer than us.
"""

from __future__ import annotations

import os
import re
import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from typing import Any

HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""Folder that holds ``zentracer_dap``, and ``zentracer`` beside it."""

MARKER = "BUNDLE"


def is_bundle() -> bool:
    """Whether we run out of an extension's folder."""
    return os.path.isfile(os.path.join(HOME, MARKER))


def prefer_ours() -> None:
    """Take our packages from our folder, wherever others of the same name come on ``sys.path``."""
    names = ["zentracer", "zentracer_dap"]
    if is_bundle():
        names.append("msgpack")
    sys.meta_path.insert(0, _Beside(names))


def debugpy_folder() -> str | None:
    """Return the folder that holds the debugpy to use, None if there is none.

    The environment's own is compiled, so it comes before a bundled one unless it is too old.
    """
    spec = find_spec("debugpy")
    found = os.path.dirname(os.path.dirname(spec.origin)) if spec and spec.origin else None
    if not is_bundle() or not os.path.isdir(os.path.join(HOME, "debugpy")):
        return found
    return HOME if found is None or _is_too_old(found) else found


def version() -> str:
    """Return our version without importing anything."""
    with open(os.path.join(HOME, "zentracer", "__init__.py"), encoding="utf-8") as file:
        match = re.search(r'__version__ = "([^"]+)"', file.read())
    return match[1] if match else "unknown"


class _Beside:
    """Finds some top-level packages in our folder only; leaves the others to ``sys.path``."""

    def __init__(self, names: list[str]) -> None:
        self._names = names

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return where to load ``name`` from, None if it is none of ours."""
        del path, target
        return PathFinder.find_spec(name, [HOME]) if name in self._names else None


def _is_too_old(folder: str) -> bool:
    from zentracer_dap.debugpy_main import is_too_old

    try:
        with open(os.path.join(folder, "debugpy", "_version.py"), encoding="utf-8") as file:
            match = re.search(r'"version": "([^"]+)"', file.read())
    except OSError:
        return True
    # A checkout computes its version; whoever uses one knows what it is.
    return match is not None and is_too_old(match[1])
