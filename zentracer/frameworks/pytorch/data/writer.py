"""Who has written, in words and with the line.

RUNS IN the training process.
"""

from __future__ import annotations

import types
from typing import NamedTuple, Optional

from zentracer.control.source import Place, place_of
from zentracer.frameworks.pytorch.modules import modules_on_stack, qualified_name

_PLUMBING = frozenset(
    """
    _call_impl _wrapped_call_impl wrapper decorate_context __torch_function__ inner _fn
    __torch_dispatch__ wrapped __call__ _no_grad_wrapper
    """.split()
)


class Site(NamedTuple):
    """A place in the user's code that keeps no frame alive."""

    code: types.CodeType
    lasti: int

    @property
    def place(self) -> Place:
        """Where that is in the source."""
        return place_of(self.code, self.lasti)


def site_of(frame: types.FrameType) -> Site:
    """Return where a frame is."""
    return Site(frame.f_code, frame.f_lasti)


class Writer(NamedTuple):
    """Who has written; or what was about to run when a write was found."""

    op: str
    """``add_``, ``SGD.step``, ``backward`` …"""
    phase: str
    frame: types.FrameType
    """The user's frame that is to stop."""
    inner: Optional[types.FrameType] = None
    """Where the call came from, if that is a library's code."""
    is_known: bool = True
    """False when the write was found later, at ``op``."""
    since: Optional[Site] = None
    """Where all was still as it had been, if the write was found later."""

    @property
    def name(self) -> str:
        """The writer as sentences call it: ``copy_ in load_state_dict``."""
        around = _around(self.inner, self.frame, self.op) if self.inner is not None else ""
        return f"{self.op} in {around}" if around else self.op


def _around(frame: types.FrameType, user: types.FrameType, op: str) -> str:
    """Return which module or function of a library's, called from ``user``, made a torch call."""
    modules = modules_on_stack(frame)
    if len(modules) > len(modules_on_stack(user)):
        path, kind = qualified_name(modules[0], modules[-1]), type(modules[0]).__name__
        return f"forward of {path}" + (f" ({kind})" if path != kind else "")
    name, current = "", frame
    while current is not user and current.f_back is not None:
        if current.f_code.co_name not in _PLUMBING:
            name = current.f_code.co_name
        current = current.f_back
    return "" if name == op else name
