"""Changes that the program asks for itself: ``zentracer.patch``.

RUNS IN the user's training process, on the calling thread, with a debugger or without.
"""

from __future__ import annotations

import os
from types import FrameType
from typing import Any, Optional

from zentracer import patches
from zentracer.control.pointed import Pointed
from zentracer.observe.kinds import array_kind
from zentracer.observe.stats import error_text
from zentracer.patches import notices
from zentracer.patches.change import Refused
from zentracer.watches import paths
from zentracer.wire.patches import Patch

_FAILED = "zentracer.patch at {}:{} has changed nothing. {}"
_LONGEST = 60
"""Characters of a value that are shown."""


def patch(
    target: Any, op: str, value: Any, slice: Any, label: Optional[str], frame: FrameType
) -> None:
    """Make one change; what cannot be made is told.

    Args:
        target: an object, or an expression of ``frame``.
        op: one of ``OPS``.
        value: the operand, an object.
        slice: part of the target, as an object or as text.
        label: how the user calls the change.
        frame: the caller's.
    """
    try:
        text = None if value is None else _text(value, frame)
        part = slice if slice is None or isinstance(slice, str) else _index_text(slice)
        what = None if isinstance(target, str) else _pointed(target, slice, part, frame)
        name = target if what is None else what.label
        asked = Patch(target=name, op=op, value=text, slice=part, label=label)
        if value is None:
            patches.apply(asked, frame, what=what)
        else:
            patches.apply(asked, frame, value, what)
    except Refused as refused:
        _tell(frame, str(refused))
    except Exception as error:
        _tell(frame, f"ZenTracer failed: {error_text(error)}. Please report this.")


def _pointed(target: Any, index: Any, part: Optional[str], frame: FrameType) -> Pointed:
    name = _name(target, frame)
    if part is None:
        return Pointed(name, [target], [])
    if isinstance(index, str):
        index = patches.picked(index, frame)
    return Pointed(f"{name}[{part}]", [target, None], [(paths.item, index)])


def _tell(frame: FrameType, why: str) -> None:
    file = os.path.basename(frame.f_code.co_filename)
    notices.tell(_FAILED.format(file, frame.f_lineno, why))


def _name(target: Any, frame: FrameType) -> str:
    """Return the expression that the caller has for an object, as far as there is a short one."""
    found = patches.changer().name_of(target, frame)
    return found or type(target).__name__


def _text(value: Any, frame: FrameType) -> str:
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if array_kind(type(value)):
        return _name(value, frame)
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _index_text(index: Any) -> str:
    if isinstance(index, tuple):
        return ", ".join(map(_index_text, index)) or "()"
    if isinstance(index, slice):
        parts = ("" if part is None else str(part) for part in (index.start, index.stop))
        return ":".join(parts) + (f":{index.step}" if index.step is not None else "")
    if index is Ellipsis:
        return "..."
    return type(index).__name__ if array_kind(type(index)) else repr(index)
