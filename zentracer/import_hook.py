"""Tells when the user has imported a framework, without importing it.

RUNS IN the training process. The hook stays unnoticed: modules keep their own loaders, and the
finder leaves ``sys.meta_path`` once every awaited module has come.
"""

from __future__ import annotations

import sys
import threading
from typing import Any, Callable, Dict, Set

_POLL_SECONDS = 0.05


def when_imported(callbacks: Dict[str, Callable[[], None]]) -> None:
    """Call ``callbacks[name]`` after the top-level module ``name`` has been imported.

    A module that is there already is reported at once. The call comes on the importing thread,
    when the module's code has run to its end. Callbacks must not raise.
    """
    awaited = dict(callbacks)
    for name in list(awaited):
        module = sys.modules.get(name)
        if module is None:
            continue
        if _is_initializing(module):  # we were attached while it was being imported
            _wait_for(module, awaited.pop(name))
        else:
            awaited.pop(name)()
    if awaited:
        sys.meta_path.insert(0, _Finder(awaited))


def _is_initializing(module: Any) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def _wait_for(module: Any, callback: Callable[[], None]) -> None:
    """Call ``callback`` on a thread of ours once an import that runs elsewhere has ended."""

    def look() -> None:
        if _is_initializing(module):
            _wait_for(module, callback)
        elif module.__name__ in sys.modules:  # a failed import takes its module away again
            callback()

    timer = threading.Timer(_POLL_SECONDS, look)
    timer.daemon = True
    timer.pydev_do_not_trace = timer.is_pydev_daemon_thread = True  # type: ignore[attr-defined]
    timer.start()


class _Finder:
    """Finds nothing by itself: it asks the other finders and listens to the loader they name."""

    def __init__(self, awaited: Dict[str, Callable[[], None]]) -> None:
        self._awaited = awaited
        self._asked: Set[str] = set()
        """Being looked for right now: another finder of ours would ask this one again."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Find ``name`` as if this finder were not there."""
        if name not in self._awaited or name in self._asked:
            return None
        self._asked.add(name)
        try:
            return self._find(name, path, target)
        finally:
            self._asked.discard(name)

    def _find(self, name: str, path: Any, target: Any) -> Any:
        for finder in list(sys.meta_path):
            find_spec = getattr(finder, "find_spec", None)
            if finder is self or find_spec is None:
                continue
            spec = find_spec(name, path, target)
            if spec is not None:
                self._listen(name, spec.loader)
                return spec
        return None

    def _listen(self, name: str, loader: Any) -> None:
        original = getattr(loader, "exec_module", None)
        if original is None:
            return

        def exec_module(module: Any) -> None:
            vars(loader).pop("exec_module", None)  # gone before the module can look at its loader
            original(module)
            self._arrived(name)

        try:
            loader.exec_module = exec_module
        except AttributeError:
            return  # a loader with slots: that framework stays unwatched

    def _arrived(self, name: str) -> None:
        callback = self._awaited.pop(name, None)
        if not self._awaited and self in sys.meta_path:
            sys.meta_path.remove(self)
        if callback is not None:
            callback()
