"""Live modules and tensors by their qualified names, for the user's expressions.

RUNS IN the training process. Looking at every live object takes a while, and an expression may be
evaluated at each turn of a loop: what was found serves for a moment.
"""

from __future__ import annotations

import fnmatch
import time
import weakref
from typing import Any

from torch import nn

from zentracer.frameworks.pytorch.live import held_by
from zentracer.frameworks.pytorch.modules import named_modules, root_modules, stripped

_FRESH_SECONDS = 2.0


class _Index:
    """Names of the live modules; keeps none alive."""

    def __init__(self) -> None:
        self._modules: list[tuple[str, weakref.ref[nn.Module]]] = []
        self._made_at = -_FRESH_SECONDS

    def entries(self) -> list[tuple[str, nn.Module]]:
        """Return names and modules, those of the biggest model first."""
        if time.monotonic() - self._made_at > _FRESH_SECONDS:
            self._modules = [
                (stripped(name), weakref.ref(module))
                for root in root_modules()
                for name, module in named_modules(root)
            ]
            self._made_at = time.monotonic()
        alive = ((name, reference()) for name, reference in self._modules)
        return [(name, module) for name, module in alive if module is not None]

    def forget(self) -> None:
        """Look again at the next question."""
        self._made_at = -_FRESH_SECONDS


_index = _Index()


def forget() -> None:
    """Look at all objects again at the next question, for an answer that is not a moment old."""
    _index.forget()


def modules(pattern: str) -> list[tuple[str, nn.Module]]:
    """Return the modules whose name fits the glob; the empty name is a model itself."""
    found = _fitting(pattern)
    if not found:  # it may have been built a moment ago
        _index.forget()
        found = _fitting(pattern)
    return found


def tensors(name: str) -> list[Any]:
    """Return the parameters and buffers with this qualified name."""
    owner, _, attribute = name.rpartition(".")
    return [
        tensor
        for found, module in modules(owner)
        if found == owner
        for table in ("_parameters", "_buffers")
        for key, tensor in held_by(module, table)
        if key == attribute and tensor is not None
    ]


def _fitting(pattern: str) -> list[tuple[str, nn.Module]]:
    return [(name, m) for name, m in _index.entries() if fnmatch.fnmatchcase(name, pattern)]
