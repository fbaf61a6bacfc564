"""Frames that are not on the Python stack but belong to the story, such as the forward call
of the autograd node whose backward runs.

RUNS IN the training process, when a client asks for the stack of a stopped thread.
"""

from __future__ import annotations

from types import FrameType
from typing import Any, Callable, Iterator, List, Optional

from zentracer.wire.messages import Location

Explainer = Callable[[FrameType], Optional[Location]]
_explainers: List[Explainer] = []
_ids: List[object] = []
"""Objects whose identities serve as frame ids; kept, so that no real frame gets the same."""


def install(pydevd: Any, _notify: Callable[..., None]) -> None:
    """Extend the one generator that every answer with frames is made of."""
    del pydevd
    from _pydevd_bundle import pydevd_net_command_factory_json

    factory = pydevd_net_command_factory_json.NetCommandFactoryJson
    original = factory._iter_visible_frames_info

    def _iter_visible_frames_info(self: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        for info in original(self, *args, **kwargs):
            yield info
            where = _explained(info[1])
            if where is not None:
                yield _told_frame(info, where)

    factory._iter_visible_frames_info = _iter_visible_frames_info


def explain_with(explainer: Explainer) -> None:
    """Ask ``explainer`` for each shown frame where its work was begun."""
    _explainers.append(explainer)


def _explained(frame: Any) -> Optional[Location]:
    if not isinstance(frame, FrameType):
        return None
    found = (explainer(frame) for explainer in _explainers)
    return next((where for where in found if where is not None), None)


def _told_frame(info: Any, where: Location) -> Any:
    marker = object()
    _ids.append(marker)
    del _ids[:-256]
    name = f"[forward of {info[2]}] {where.function}"
    return (id(marker), info[1], name, where.path, where.path, where.line, False, False, None)
