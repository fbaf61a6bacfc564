"""What the program's environment has installed of our own names, and which of it we use.

RUNS IN the training process, before anything that needs msgpack is imported.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import re
import sys
from contextlib import contextmanager
from typing import Any, Callable, Iterator, List, Optional

import zentracer

_MSGPACK = "msgpack"
_OLDEST_MSGPACK = 1
"""Before version 1.0, text and bytes were packed alike."""
_TUPLE = re.compile(r"^version\s*=\s*\((\d+)", re.MULTILINE)
_TEXT = re.compile(r"^__version__\s*=\s*['\"]([^'\"]+)['\"]", re.MULTILINE)
_TOLD = "ZENTRACER_TOLD"
"""Set in the environment once the user was told, so that children do not say it again."""


def bind_msgpack(load_ours: Optional[Callable[[], Any]]) -> None:
    """Give the codec a msgpack that serves: the environment's own, else ours.

    Ours stays hidden, because a program must find under the debugger what it finds without it:
    its own msgpack however old, or none.

    Args:
        load_ours: imports our msgpack; None where there is none.
    """
    if load_ours is None or (_serves() and _codec_can_be_imported()):
        return
    with _hidden(_MSGPACK):
        load_ours()
        importlib.import_module("zentracer.wire.codec")


def tell_of_another_zentracer(notice: Callable[[str], None]) -> None:
    """Say which zentracer is used if the environment has one of another version."""
    if os.environ.get(_TOLD):
        return
    version = _other_version()
    if version is not None and version != zentracer.__version__:
        os.environ[_TOLD] = "1"
        notice(
            f"This environment has zentracer {version} installed; the debugger uses its own "
            f"{zentracer.__version__} for this session."
        )


def _serves() -> bool:
    """Tell whether the environment's msgpack is there and not too old, without importing it."""
    loaded = sys.modules.get(_MSGPACK)
    if loaded is not None:
        version = getattr(loaded, "version", None)
        return isinstance(version, tuple) and version >= (_OLDEST_MSGPACK,)
    spec = importlib.machinery.PathFinder.find_spec(_MSGPACK)
    if spec is None or not spec.origin:
        return False
    folder = os.path.dirname(spec.origin)
    for name in ("__init__.py", "_version.py"):
        found = _TUPLE.search(_read(os.path.join(folder, name)))
        if found:
            return int(found.group(1)) >= _OLDEST_MSGPACK
    return False


def _codec_can_be_imported() -> bool:
    before = _names_of(_MSGPACK)
    try:
        importlib.import_module("zentracer.wire.codec")
    except Exception:  # a broken installation may raise anything
        for name in _names_of(_MSGPACK):
            if name not in before:
                del sys.modules[name]
        return False
    return True


@contextmanager
def _hidden(package: str) -> Iterator[None]:
    """Context: what is imported of ``package`` is gone from ``sys.modules`` afterwards."""
    before = {name: sys.modules.pop(name) for name in _names_of(package)}
    try:
        yield
    finally:
        for name in _names_of(package):
            del sys.modules[name]
        sys.modules.update(before)


def _names_of(package: str) -> List[str]:
    return [name for name in list(sys.modules) if f"{name}.".startswith(f"{package}.")]


def _other_version() -> Optional[str]:
    """Return the version of a zentracer that the program would import without us."""
    spec = importlib.machinery.PathFinder.find_spec("zentracer", sys.path)
    ours = os.path.realpath(os.path.dirname(os.path.abspath(zentracer.__file__)))
    if spec is None or not spec.origin:
        return None
    folder = os.path.dirname(spec.origin)
    if os.path.realpath(folder) == ours:
        return None
    found = _TEXT.search(_read(os.path.join(folder, "__init__.py")))
    return found.group(1) if found else _version_by_metadata()


def _version_by_metadata() -> Optional[str]:
    from importlib import metadata  # costs 10 ms to load

    try:
        return metadata.version("zentracer")
    except metadata.PackageNotFoundError:
        return None


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(65536)
    except OSError:
        return ""
