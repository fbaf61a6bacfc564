"""Which model is running, and from which line of the user's.

RUNS IN the training process.
"""

from __future__ import annotations

import types
from dataclasses import dataclass

from torch import Tensor, nn
from torch.utils.checkpoint import check_backward_validity as checkpoint

from zentracer.frameworks.pytorch.frames import user_frame

_CHECKPOINT = checkpoint.__code__.co_filename
_CALL_CODE = nn.Module._call_impl.__code__


@dataclass(frozen=True)
class Run:
    """The outermost call of a module on the stack."""

    root: nn.Module
    frame: types.FrameType
    """The user's frame that called it."""
    is_direct: bool
    """Whether the user's code called it itself, rather than through a library."""
    input: Tensor | None
    """Its first argument, if that is a tensor."""
    is_recomputed: bool
    """Whether ``torch.utils.checkpoint`` is at work, which switches gradients off in training."""


def outermost(frame: types.FrameType | None) -> Run | None:
    """Return the outermost module call at or around ``frame``; None outside any."""
    found: types.FrameType | None = None
    is_recomputed = False
    while frame is not None:
        if frame.f_code is _CALL_CODE:
            found = frame
        elif frame.f_code.co_filename == _CHECKPOINT:
            is_recomputed = True
        frame = frame.f_back
    if found is None:
        return None
    values = found.f_locals
    caller = found.f_back
    while caller is not None and caller.f_code.co_name in {"__call__", "_wrapped_call_impl"}:
        caller = caller.f_back
    user = user_frame(caller)
    if user is None:
        return None
    args = values.get("args") or ()
    first = args[0] if args and isinstance(args[0], Tensor) else None
    return Run(values["self"], user, caller is user, first, is_recomputed)


def enclosing(frame: types.FrameType | None) -> nn.Module | None:
    """Return the module whose forward runs around ``frame``."""
    while frame is not None:
        if frame.f_code is _CALL_CODE:
            return frame.f_locals.get("self")
        frame = frame.f_back
    return None


def site(frame: types.FrameType) -> tuple[int, int]:
    """Return what is the same each time this line is reached."""
    return id(frame.f_code), frame.f_lasti
