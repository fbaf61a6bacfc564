"""Which code is the user's: debugpy's own justMyCode rules, with the configuration's ``rules``.

RUNS IN the training process. With ``justMyCode: false`` libraries still do not count as the
user's code: a stop belongs on the user's line, not inside of PyTorch.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from types import CodeType
from typing import Any, Dict, Optional, Tuple

from zentracer.control.pydevd import guard
from zentracer.control.pydevd.hidden import own_folders

_MAX_CACHED = 100_000
_cache: Dict[int, Tuple[CodeType, Any, bool]] = {}
"""By identity: equal code objects may come from different files. The entry keeps its code alive,
so that an identity is not reused, and names the rules it was judged by."""


def is_user_code(code: CodeType, module: Optional[str] = None) -> bool:
    """Return whether ``code`` is the user's own.

    Args:
        code: a code object, cached by identity.
        module: name of its module; only rules about modules need it.
    """
    filters = _filters()
    rules = filters and filters._exclude_filters
    entry = _cache.get(id(code))
    if entry is not None and entry[1] is rules:
        return entry[2]
    if len(_cache) >= _MAX_CACHED:
        _cache.clear()
    with guard.own_work():
        answer = _judge(code.co_filename, module, filters)
    _cache[id(code)] = (code, rules, answer)
    return answer


def is_user_file(path: str, module: Optional[str] = None) -> bool:
    """Return whether what is in a file is the user's own code; not cached."""
    with guard.own_work():
        return _judge(path, module, _filters())


def _filters() -> Any:
    """Return pydevd's file filters, or None where no debugger is."""
    pydevd = sys.modules.get("pydevd")
    debugger = pydevd.get_global_debugger() if pydevd is not None else None
    return getattr(debugger, "_files_filtering", None)


def _judge(filename: str, module: Optional[str], filters: Any) -> bool:
    if filename.startswith("<frozen"):
        return False
    if filename.startswith("<"):
        return filename.startswith(("<string>", "<stdin>", "<ipython-input", "<cell"))
    path = os.path.abspath(filename)
    if path.startswith(own_folders()) or _is_debugger_file(path):
        return False
    if filters is None:
        return not path.startswith(_library_folders())
    excluded = filters.exclude_by_filter(path, module or "")
    if excluded is not None:
        return not excluded
    return bool(filters.in_project_roots(path))


def _is_debugger_file(path: str) -> bool:
    file = getattr(sys.modules.get("pydevd"), "__file__", None)
    return bool(file) and path.startswith(os.path.join(os.path.dirname(os.path.abspath(file)), ""))


def _library_folders() -> Tuple[str, ...]:
    paths = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    return tuple(os.path.join(path, "") for path in paths if path)
