"""Which of what is watched a torch call may have written into.

RUNS IN the training process, at each call of a function that writes. Reads metadata only.
"""

from __future__ import annotations

from typing import Any, Iterable

from torch import Tensor

from zentracer.frameworks.pytorch.data.target import Target
from zentracer.frameworks.pytorch.data.watched import Watched
from zentracer.frameworks.pytorch.data.writers import (
    Writes,
    exposes,
    sets_gradient,
    writes_of,
    writes_out,
)
from zentracer.frameworks.pytorch.finite import tensors_in


class Calls:
    """Knows the functions that were met."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._writes: dict[Any, Writes] = {}

    def writes(self, function: Any) -> bool:
        """Tell whether a function writes, and remember where."""
        writes = writes_of(function)
        if writes is None or (writes is sets_gradient and not self._watched.has_gradients):
            return False
        self._writes[function] = writes
        return True

    def touched(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Target]:
        """Return what a call may have written into, or whose memory it has handed out."""
        writes = self._writes.get(func)
        if writes is sets_gradient:
            return self._watched.gradients_of(args[0])
        if writes is not None:
            return self._of(writes(args, kwargs))
        if "out" in kwargs:
            return self._of(writes_out(args, kwargs))
        return self._of(tensors_in(args[:1])) if exposes(func) else []

    def _of(self, tensors: Iterable[Tensor]) -> list[Target]:
        touched = self._watched.touched
        return [target for x in tensors for target in touched(x)]
