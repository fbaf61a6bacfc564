"""Names of modules, looked up by identity.

RUNS IN the training process, when there is something to tell or a condition names modules.
"""

from __future__ import annotations

import types
import weakref

from torch import nn

from zentracer.frameworks.pytorch.modules import root_modules, stripped
from zentracer.frameworks.pytorch.training.names import labels_of


class ModuleNames:
    """Names of the modules of all live models.

    A miss makes it look at all live objects. So that a model of ten thousand unregistered modules
    costs no ten thousand looks, each look in vain doubles the misses until the next one.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[nn.Module], str]] = {}
        self._unknown: dict[int, weakref.ref[nn.Module]] = {}
        self._misses = 0
        self._in_vain = 0

    def of(self, module: nn.Module, frame: types.FrameType | None = None) -> str:
        """Return the qualified name of ``module``; its class where no model has it.

        Args:
            module: compared by identity.
            frame: where to look for the variables that hold the models, if there are several.
        """
        found = self._known.get(id(module))
        if found is not None and found[0]() is module:
            return found[1]
        missing = self._unknown.get(id(module))
        if missing is None or missing() is not module:
            self._misses += 1
            if self._misses >= 2**self._in_vain:
                self._misses = 0
                self.refresh(frame)
                found = self._known.get(id(module))
                if found is not None and found[0]() is module:
                    self._in_vain = 0
                    return found[1]
                self._in_vain += 1
            self._unknown[id(module)] = weakref.ref(module)
        return type(module).__name__

    def all(self) -> list[str]:
        """Return the names that were found at the last look."""
        return [name for _, name in self._known.values()]

    def refresh(self, frame: types.FrameType | None = None) -> None:
        """Read the names anew: modules may have been replaced."""
        self._known.clear()
        self._unknown.clear()
        roots = root_modules()
        named = [root for root in roots if root._modules or any(True for _ in root.parameters())]
        labels = labels_of(named, frame) if len(named) > 1 else {}
        for root in roots:
            label = labels.get(id(root), "")
            for name, module in root.named_modules():
                path = ".".join(filter(None, (label, stripped(name))))
                entry = (weakref.ref(module), path or type(module).__name__)
                self._known.setdefault(id(module), entry)

    def forget(self) -> None:
        """Know nothing any more."""
        self._known.clear()
        self._unknown.clear()
        self._misses = self._in_vain = 0
