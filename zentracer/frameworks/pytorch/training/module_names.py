"""Names of modules, looked up by identity.

RUNS IN the training process, when there is something to tell or a condition names modules.
"""

from __future__ import annotations

import types
import weakref
from typing import Callable, NamedTuple

from torch import nn

from zentracer.frameworks.pytorch.modules import (
    has_parameters,
    named_modules,
    root_modules,
    stripped,
)
from zentracer.frameworks.pytorch.training.names import labels_of


class _Known(NamedTuple):
    module: weakref.ref[nn.Module]
    path: str
    """Below the root; empty for the root itself."""
    root: weakref.ref[nn.Module]


class ModuleNames:
    """Names of the modules of all live models.

    A miss makes it look at all live objects. So that a model of ten thousand unregistered modules
    costs no ten thousand looks, each look in vain doubles the misses until the next one.

    Args:
        is_used: tells of a model whether it takes part in the training. Where several do, names
            begin with the variable of their model.
    """

    def __init__(self, is_used: Callable[[nn.Module], bool] = lambda _: True) -> None:
        self._is_used = is_used
        self._known: dict[int, _Known] = {}
        self._unknown: dict[int, weakref.ref[nn.Module]] = {}
        self._roots: list[weakref.ref[nn.Module]] = []
        self._labels: dict[int, str] = {}
        self._misses = 0
        self._in_vain = 0

    def of(self, module: nn.Module, frame: types.FrameType | None = None) -> str:
        """Return the qualified name of ``module``; its class where no model has it.

        Args:
            module: compared by identity.
            frame: where to look for the variables that hold the models, if there are several.
        """
        known = self._find(module)
        if known is None:
            return type(module).__name__
        return self._name(module, known, self._label(known, frame))

    def all_of(self, module: nn.Module, frame: types.FrameType | None) -> tuple[str, ...]:
        """Return the names that ``module`` may be called by: with and without its model's."""
        known = self._find(module)
        if known is None:
            return (type(module).__name__,)
        plain = self._name(module, known, "")
        self._look_for_labels(frame)
        labelled = self._name(module, known, self._labels.get(id(known.root()), ""))
        return (plain,) if plain == labelled else (plain, labelled)

    def known(self) -> list[str]:
        """Return the names that were found at the last look."""
        return [known.path for known in self._known.values() if known.path]

    def refresh(self) -> None:
        """Read the names anew: modules may have been replaced."""
        self.forget()
        for root in root_modules():
            reference = weakref.ref(root)
            self._roots.append(reference)
            for name, module in named_modules(root):
                entry = _Known(weakref.ref(module), stripped(name), reference)
                self._known.setdefault(id(module), entry)

    def forget(self) -> None:
        """Know nothing any more."""
        self._known.clear()
        self._unknown.clear()
        self._roots.clear()
        self._labels.clear()

    def _find(self, module: nn.Module) -> _Known | None:
        found = self._known.get(id(module))
        if found is not None and found.module() is module:
            return found
        missing = self._unknown.get(id(module))
        if missing is not None and missing() is module:
            return None
        self._misses += 1
        if self._misses >= 2**self._in_vain:
            self._misses = 0
            self.refresh()
            found = self._known.get(id(module))
            if found is not None and found.module() is module:
                self._in_vain = 0
                return found
            self._in_vain += 1
        self._unknown[id(module)] = weakref.ref(module)
        return None

    def _label(self, known: _Known, frame: types.FrameType | None) -> str:
        roots = [root for reference in self._roots if (root := reference()) is not None]
        if len(roots) < 2 or sum(1 for root in roots if _learns(root) and self._is_used(root)) < 2:
            return ""
        self._look_for_labels(frame)
        return self._labels.get(id(known.root()), "")

    def _look_for_labels(self, frame: types.FrameType | None) -> None:
        roots = [root for reference in self._roots if (root := reference()) is not None]
        if len(self._labels) < len(roots):
            for identity, label in labels_of(roots, frame).items():
                self._labels.setdefault(identity, label)

    @staticmethod
    def _name(module: nn.Module, known: _Known, label: str) -> str:
        return ".".join(filter(None, (label, known.path))) or type(module).__name__


def _learns(root: nn.Module) -> bool:
    return has_parameters(root)
