"""Which pass over the training data this is.

RUNS IN the training process. A pass begins when a ``DataLoader`` is iterated; the one from which
training steps are taken is the training data, others are for validation, in between or after it.
Programs that slice their data themselves mostly count in a variable named ``epoch``.
"""

from __future__ import annotations

import functools
import types
import weakref
from typing import Any, Callable

from torch.utils.data import DataLoader

from zentracer.frameworks.pytorch.frames import user_frames, variables
from zentracer.frameworks.pytorch.replace import Replacements


class _Pass:
    """A pass over a loader that may not be over."""

    def __init__(self, iterator: Any, loader: Any) -> None:
        self.loader: weakref.ref[Any] = weakref.ref(loader)
        self._iterator: weakref.ref[Any] = weakref.ref(iterator)
        self._yielded = 0

    @property
    def is_over(self) -> bool:
        return self._iterator() is None

    def has_advanced(self) -> bool:
        """Tell whether it gave a batch since the last time it was asked."""
        before = self._yielded
        self._yielded = getattr(self._iterator(), "_num_yielded", before)
        return self._yielded != before


class Epochs:
    """Counts passes over the data while something is armed."""

    def __init__(self, failed: Callable[[str, Exception], None]) -> None:
        self._failed = failed
        self._passes: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._running: list[_Pass] = []
        self._current: weakref.ref[Any] | None = None
        """The loader that was iterated last."""
        self._training: weakref.ref[Any] | None = None
        """The loader that gave the batch of the last training step."""
        self._replaced = Replacements()

    def add(self) -> None:
        """Begin to count."""

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(original)
            def __iter__(loader: Any) -> Any:
                iterator = original(loader)
                try:
                    self._begins(loader, iterator)
                except Exception as error:  # ours to report, never the training's to die from
                    self._failed("count this pass over the data", error)
                return iterator

            return __iter__

        self._replaced.put(DataLoader, "__iter__", make)

    def _begins(self, loader: Any, iterator: Any) -> None:
        self._passes[loader] = self._passes.get(loader, 0) + 1
        self._current = weakref.ref(loader)
        self._running = [p for p in self._running if not p.is_over]
        self._running.append(_Pass(iterator, loader))

    def remove(self) -> None:
        """Leave no trace."""
        self._replaced.remove()
        self._passes.clear()
        self._running.clear()
        self._current = self._training = None

    def stepped(self) -> None:
        """A training step was completed."""
        self._running = [p for p in self._running if not p.is_over]
        advanced = [p for p in self._running if p.has_advanced()]
        if advanced:
            self._training = advanced[0].loader
        elif self._training is None:
            self._training = self._current

    def number(self, frame: types.FrameType | None) -> int | None:
        """Return the pass, counted from 0, or what a variable ``epoch`` says."""
        for user in user_frames(frame, limit=8):
            value = variables(user).get("epoch")
            if type(value) is int:
                return value
        known = self._training or self._current
        loader = known() if known is not None else None
        count = self._passes.get(loader, 0) if loader is not None else 0
        return count - 1 if count else None
