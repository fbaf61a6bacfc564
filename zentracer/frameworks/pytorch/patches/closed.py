"""Modules whose calls run something else than their own code, and so call no hooks.

RUNS IN the training process.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch import nn

from zentracer.frameworks.pytorch.modules import named_modules, root_modules

_SCRIPTED = "TorchScript runs a translation of it, which calls no hooks"
_COMPILED = (
    "torch.compile has compiled it, and would not see the change; run it eagerly, or patch the "
    "output of a module around it"
)


def why_closed(module: nn.Module) -> str | None:
    """Return why the calls of a module, or of one around it, call no hooks; None if they do."""
    if isinstance(module, torch.jit.ScriptModule):
        return _SCRIPTED
    for root in root_modules():
        closed: list[tuple[str, str]] = []
        for path, one in named_modules(root):
            reason = next((why for start, why in closed if path.startswith(start)), None)
            if one is module and reason is not None:
                return reason
            own = _closing(one)
            if one is module and own is not None:
                return own
            if own is not None:
                closed.append((f"{path}." if path else "", own))
    return None


def _closing(module: nn.Module) -> str | None:
    if isinstance(module, torch.jit.ScriptModule):
        return _SCRIPTED
    is_compiled = type(module).__name__ == "OptimizedModule"
    is_compiled = is_compiled or vars(module).get("_compiled_call_impl") is not None
    return _COMPILED if is_compiled and not _runs_eagerly() else None


def _runs_eagerly() -> bool:
    dynamo: Any = sys.modules.get("torch._dynamo.eval_frame")
    return getattr(getattr(dynamo, "_stance", None), "stance", None) == "force_eager"
