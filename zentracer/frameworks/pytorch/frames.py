"""From a torch call to the user's frame that made it.

RUNS IN the training process, on the hot path: one dictionary look-up per frame on the way.
"""

from __future__ import annotations

import inspect
import sys
import types
from typing import Any, Mapping

from zentracer.control.pydevd.usercode import is_user_code
from zentracer.control.stop import is_debugger_busy

_known: dict[int, tuple[bool, types.CodeType]] = {}
"""By identity: hashing a code object costs more than the rest of the walk, and equal code may come
from different files. The entry keeps its code alive, so that an identity is not reused."""
_MAX_KNOWN = 100_000
_KEEPS_LOCALS = sys.version_info < (3, 13)
_PASSING_ON = ("__torch_function__", "__torch_dispatch__")


def user_frame(frame: types.FrameType | None) -> types.FrameType | None:
    """Return the nearest frame, from ``frame`` outwards, that runs the user's code."""
    while frame is not None:
        known = _known.get(id(frame.f_code)) or _classify(frame.f_code)
        if known[0]:
            return frame
        frame = frame.f_back
    return None


def user_frames(frame: types.FrameType | None, limit: int = 64) -> list[types.FrameType]:
    """Return the user's frames from ``frame`` outwards, innermost first."""
    found: list[types.FrameType] = []
    while len(found) < limit:
        frame = user_frame(frame)
        if frame is None:
            break
        found.append(frame)
        frame = frame.f_back
    return found


def variables(frame: types.FrameType) -> Mapping[str, Any]:
    """Return the local variables of ``frame``, and leave nothing of them with it.

    Before Python 3.13 the frame of a function keeps what ``f_locals`` has returned: the batch, the
    output and the loss of one step until the function ends.
    """
    found = frame.f_locals
    if not _KEEPS_LOCALS or not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return found
    copy = dict(found)
    if not is_debugger_busy():  # within a trace function Python writes the dictionary back
        found.clear()
    return copy


def forget_known_code() -> None:
    """Drop what is cached; the debugger's rules may have changed."""
    _known.clear()


def _classify(code: types.CodeType) -> tuple[bool, types.CodeType]:
    if len(_known) >= _MAX_KNOWN:
        _known.clear()
    # A mode of the user's passes each call on: the line that made the call is the one to name.
    is_users = code.co_name not in _PASSING_ON and is_user_code(code)
    known = _known[id(code)] = (is_users, code)
    return known
