"""Where a tensor is kept: the attribute or the entry through which the user watches it.

RUNS IN the training process. A holder keeps nothing alive: it remembers the last object on the way
that can be referred to weakly, and reads on from there without running any of the user's code.
"""

from __future__ import annotations

import weakref
from typing import Any, Sequence

from torch import Tensor, nn

from zentracer.watches.paths import MISSING, Step


class Holder:
    """One place that holds a tensor."""

    def __init__(self, root: Any, steps: Sequence[Step]) -> None:
        self._root = weakref.ref(root)
        self._steps = tuple(steps)
        self.identity = id(root)
        self.is_gradient = isinstance(root, Tensor)
        self.module_attribute = (
            str(steps[0][1]) if len(steps) == 1 and isinstance(root, nn.Module) else None
        )
        """The attribute of a module, for which each assignment is seen as it happens."""

    @property
    def key(self) -> tuple[Any, ...]:
        """The same for the same place."""
        way = tuple((reader.__name__, repr(argument)) for reader, argument in self._steps)
        return (self.identity, *way)

    @property
    def root(self) -> Any:
        """What the place is in; None once that is gone."""
        return self._root()

    def get(self) -> Any:
        """Return what is held now, or ``MISSING``."""
        value = self._root()
        if value is None:
            return MISSING
        for reader, argument in self._steps:
            if value is MISSING:
                break
            value = reader(value, argument)
        return value


def holder_of(values: Sequence[Any], steps: Sequence[Step]) -> Holder | None:
    """Return the holder of ``values[-1]``.

    Args:
        values: all objects on the way, ``values[i + 1]`` is what ``steps[i]`` has read.
        steps: as ``watches.paths`` has parsed them.
    """
    for at in range(len(steps) - 1, -1, -1):
        root = values[at]
        if isinstance(root, Tensor) and steps[at][1] != "grad":
            return None  # a part of a tensor, held by nobody
        try:
            weakref.ref(root)
        except TypeError:  # a plain dict or list: the object that has it must do
            continue
        return Holder(root, steps[at:])
    return None
