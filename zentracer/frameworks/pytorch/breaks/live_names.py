"""Whether a glob names a module of a live model, on any thread and while the program runs.

RUNS IN the training process, when breakpoints are set.
"""

from __future__ import annotations

import difflib
import sys
from typing import Any, Iterator

import torch
from torch import nn

from zentracer.frameworks.pytorch.breaks.glob import matcher
from zentracer.frameworks.pytorch.compiled_regions import EVAL_FRAME
from zentracer.frameworks.pytorch.live import Pace, live_roots
from zentracer.frameworks.pytorch.modules import named_modules, stripped

_NO_MODEL = "No model is alive yet; the breakpoint becomes active when a module '{}' is called."
_MAX_HINTS = 20
_EAGER = 'put "eager": true into the "zentracer" part of the launch configuration'
_COMPILED = (
    "{name} is part of a model that torch.compile runs as generated code, which calls no modules. "
    f"To stop there, run this session eagerly (your editor offers it), or {_EAGER}."
)
_SCRIPTED = (
    "{name} is part of a model that TorchScript runs without Python. To stop there, "
    f"{_EAGER}, which sets PYTORCH_JIT=0."
)


class LiveNames:
    """The names of all modules, at one moment."""

    def __init__(self) -> None:
        self._names = [found for root in live_roots(Pace()) for found in _names_in(root)]
        self._hints = _MAX_HINTS

    def why_none(self, glob: str) -> str | None:
        """Return why a glob matches no module yet that can be seen; None if it matches one."""
        fits = matcher(glob)
        found = [(name, reason) for name, reason in self._names if fits(name)]
        if any(reason is None for _, reason in found):
            return None
        if found:
            name, reason = found[0]
            return str(reason).format(name=name)
        if not self._names:
            return _NO_MODEL.format(glob)
        waits = "the breakpoint becomes active when one does."
        return f"No module matches '{glob}' yet; {waits}{self._hint(glob)}"

    def _hint(self, glob: str) -> str:
        self._hints -= 1
        if self._hints < 0:  # each takes a while
            return ""
        names = [name for name, _ in self._names]
        near = difflib.get_close_matches(glob, names, n=3, cutoff=0.4)
        return f" Similar names: {', '.join(near)}." if near else ""


def _names_in(root: nn.Module) -> Iterator[tuple[str, str | None]]:
    """Yield the names of the modules of a model, each with why its calls are not seen, if so."""
    closed: list[tuple[str, str]] = []
    for path, module in named_modules(root):
        inside = (reason for prefix, reason in closed if path.startswith(prefix))
        yield stripped(path) or type(module).__name__, next(inside, None)
        reason = _closes(module)
        if reason is not None:
            closed.append((f"{path}." if path else "", reason))


def _closes(module: nn.Module) -> str | None:
    """Return why the calls below a module are not seen; its own one is."""
    if isinstance(module, torch.jit.ScriptModule):
        return _SCRIPTED
    is_compiled = type(module).__name__ == "OptimizedModule" or (
        vars(module).get("_compiled_call_impl") is not None
    )
    return _COMPILED if is_compiled and not _runs_eagerly() else None


def _runs_eagerly() -> bool:
    dynamo: Any = sys.modules.get(EVAL_FRAME)
    return getattr(getattr(dynamo, "_stance", None), "stance", None) == "force_eager"
