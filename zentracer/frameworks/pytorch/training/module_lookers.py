"""Who looks at which module, before and after it is called.

RUNS IN the training process, at the first call of each module.
"""

from __future__ import annotations

import types
import weakref
from typing import Any, Callable, Optional, Tuple

from torch import nn

from zentracer.frameworks.pytorch.training.detector import BeforeLooker, Detector, Looker
from zentracer.frameworks.pytorch.unseen import is_tracing

Before = Tuple[Tuple[Detector, BeforeLooker], ...]
_Known = Tuple["Optional[weakref.ref[nn.Module]]", Before]


class ModuleLookers:
    """Asks the detectors, once for each module.

    Args:
        drop: lets a detector step aside that has failed, with what it failed at.
    """

    def __init__(self, drop: Callable[[Detector, str, Exception], None]) -> None:
        self._drop = drop
        self._detectors: tuple[Detector, ...] = ()
        self._before: dict[int, _Known] = {}
        self.wants_before = False
        """Whether anybody wants to look before a module is called."""

    def ask(self, detectors: tuple[Detector, ...]) -> None:
        """Ask exactly these from now on."""
        self._detectors = detectors
        self._before.clear()
        unasked = Detector.before_looker
        self.wants_before = any(type(d).before_looker is not unasked for d in detectors)

    def after(self, module: Any) -> tuple[tuple[Detector, Looker], ...]:
        """Return who looks at the calls of ``module``."""
        found: list[tuple[Detector, Looker]] = []
        for detector in self._detectors:
            try:
                looker = detector.looker(module)
            except Exception as error:  # ours to report, never the training's to die from
                self._drop(detector, "at a module", error)
                continue
            if looker is not None:
                found.append((detector, looker))
        return tuple(found)

    def before(self, module: nn.Module, frame: types.FrameType) -> Before:
        """Return who looks before ``module`` is called, from ``frame`` this time."""
        known = self._before.get(id(module))
        if known is None:
            known = self._meet(module, frame)
        return known[1]

    def _meet(self, module: nn.Module, frame: types.FrameType) -> _Known:
        if is_tracing():
            return None, ()
        found: list[tuple[Detector, BeforeLooker]] = []
        for detector in self._detectors:
            try:
                looker = detector.before_looker(module, frame)
            except Exception as error:  # ours to report, never the training's to die from
                self._drop(detector, "before a module", error)
                continue
            if looker is not None:
                found.append((detector, looker))
        identity, everyone = id(module), self._before
        gone = weakref.ref(module, lambda _: everyone.pop(identity, None))
        entry: _Known = (gone, tuple(found))
        everyone[identity] = entry
        return entry
