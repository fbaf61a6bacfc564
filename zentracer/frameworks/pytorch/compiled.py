"""Calls into compiled regions: torch.compile and TorchScript.

RUNS IN the training process. The lines inside do not run one by one, so the call is the line to
stop at, and its result is what is checked.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any, Callable

import torch

from zentracer.frameworks.pytorch.finite import tensors_in
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.mode import install, installed, uninstall
from zentracer.frameworks.pytorch.plans import CHECK, Plan
from zentracer.frameworks.pytorch.trail import Site, sequence_number

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.watch import Watch


def call_compiled(watch: Watch, original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a compiled callable: entered without our mode, its result checked."""

    @functools.wraps(original)
    def compiled_call(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_dynamo_compiling() or not watch.filters:
            return original(*args, **kwargs)
        watcher = installed()
        if watcher is None or watcher.asleep:
            return original(*args, **kwargs)
        before = sequence_number()
        uninstall()
        try:
            out = original(*args, **kwargs)
        finally:
            install(watcher)
        frame = sys._getframe(1)
        user = user_frame(frame)
        name = _name(original, args)
        if user is not None and watcher is watch.main:
            site = Site(user.f_code, user.f_lasti, name, compiled=True)
            watcher.trail.note(before, sequence_number(), site)
        watcher.seen = sequence_number()
        if any([watcher.suspicious(x) for x in tensors_in(out)]):
            plan = Plan(CHECK, name, in_place=False, compiled=True)
            watch.inspect(watcher, plan, compiled_call, args, kwargs, out, False, frame)
        return out

    return compiled_call


def _name(original: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """Return what the user calls the region: the function's or the module class's name."""
    scripted = args[0] if args and type(args[0]).__name__ == "ScriptFunction" else None
    name = getattr(scripted, "name", None) or getattr(original, "__name__", "compiled code")
    return str(name).split(".")[-1]
