"""The scopes "Tensors" and "Module" of a stopped frame.

RUNS IN the training process, on the stopped thread, inside debugpy's ``evaluate`` of an
expression that calls ``of``. Standard library only.
"""

from __future__ import annotations

import threading
from types import FrameType
from typing import Any, Dict, List, Mapping, Optional, Tuple

from zentracer.control.pydevd.client_ids import frame_of
from zentracer.present.kinds import MODULE, kind_of
from zentracer.present.rows import Child, Group

MODULE_KEY = "module"
"""What the scope "Module" shows, among the tensors of a stop."""


class _Showing(threading.local):
    def __init__(self) -> None:
        self.stops: List[Tuple[FrameType, Dict[str, Any]]] = []


_showing = _Showing()


class showing:
    """Context that shows ``tensors`` below ``frame`` while its block holds the calling thread.

    Not a generator: a step out of the stop would find the standard library's code around it.
    """

    __slots__ = ("_stop",)

    def __init__(self, frame: FrameType, tensors: Optional[Mapping[str, Any]]) -> None:
        self._stop = (frame, dict(tensors)) if tensors else None

    def __enter__(self) -> None:
        if self._stop is not None:
            _showing.stops.append(self._stop)

    def __exit__(self, *_: object) -> None:
        if self._stop is not None:
            _showing.stops.pop()


def of(scope: str, frame_id: int) -> Any:
    """Return what a scope of a frame shows; None if there is no such scope.

    Args:
        scope: "Tensors" or "Module".
        frame_id: as debugpy numbers the frames of this thread.
    """
    frame = frame_of(frame_id)
    if frame is None:
        return None
    shown = next((tensors for at, tensors in reversed(_showing.stops) if at is frame), {})
    if scope == "Module":
        return _module(shown.get(MODULE_KEY), frame)
    rows: List[Child] = [(name, x, None) for name, x in shown.items() if name != MODULE_KEY]
    return Group("", lambda: rows) if rows else None


def _module(module: Any, frame: FrameType) -> Any:
    """Return the module of the stop, else the one whose method runs in ``frame``."""
    if module is not None:
        return module
    code = frame.f_code
    first = code.co_varnames[0] if code.co_argcount else None
    owner = frame.f_locals.get(first) if first is not None else None
    return owner if owner is not None and kind_of(type(owner)) == MODULE else None
