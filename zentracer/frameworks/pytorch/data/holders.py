"""Where a tensor is kept: the attribute or the entry through which the user watches it.

RUNS IN the training process. A holder keeps nothing alive: it remembers the last object on the way
that can be referred to weakly, and reads on from there without running any of the user's code.
"""

from __future__ import annotations

import sys
import types
import weakref
from typing import Any, Callable, Sequence

from torch import Tensor, nn

from zentracer.frameworks.pytorch.frames import user_frames, variables
from zentracer.watches.paths import MISSING, Step


class Holder:
    """One place that holds a tensor.

    Args:
        root: what the place is in.
        steps: the way from there.
        reach: returns ``root`` while it is there, where it cannot be referred to weakly.
    """

    def __init__(
        self, root: Any, steps: Sequence[Step], reach: Callable[[], Any] | None = None
    ) -> None:
        self._root: Callable[[], Any] = weakref.ref(root) if reach is None else reach
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

    @property
    def last(self) -> Step:
        """How the place is read of what has it."""
        return self._steps[-1]

    def container(self) -> Any:
        """Return what has the place, an object, dict or list, or ``MISSING``."""
        return self._read(self._steps[:-1])

    def get(self) -> Any:
        """Return what is held now, or ``MISSING``."""
        return self._read(self._steps)

    def _read(self, steps: Sequence[Step]) -> Any:
        value = self._root()
        if value is None:
            return MISSING
        for reader, argument in steps:
            if value is MISSING:
                break
            value = reader(value, argument)
        return value


def holder_of(values: Sequence[Any], steps: Sequence[Step], label: str) -> Holder | None:
    """Return the holder of ``values[-1]``.

    Args:
        label: the expression that the user has written.
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
        return Holder(root, steps[at:]) if _keeps_nothing(steps[at:]) else None
    if not steps or not _keeps_nothing(steps):
        return None
    reach = _variable(label, values[0])
    return Holder(values[0], steps, reach) if reach is not None else None


def _keeps_nothing(steps: Sequence[Step]) -> bool:
    """Tell whether the way is made of names and constants: ``state[p]`` would keep ``p``."""
    return all(isinstance(argument, (str, int, slice, tuple)) for _, argument in steps)


def _variable(label: str, value: Any) -> Callable[[], Any] | None:
    """Return how to read the variable with which ``label`` begins, and which is ``value``."""
    name = label.partition(".")[0].partition("[")[0].strip()
    if not name.isidentifier():
        return None
    for frame in user_frames(sys._getframe(1)):
        if frame.f_locals is not frame.f_globals and variables(frame).get(name) is value:
            return _Variable(value, _local(frame, name))
        module = sys.modules.get(frame.f_globals.get("__name__", ""))
        is_its = module is not None and vars(module) is frame.f_globals
        if is_its and frame.f_globals.get(name) is value:
            return _Variable(value, _global(module, name))
    return None


class _Variable:
    """A dict or list that can only be had from the variable that holds it.

    Once the variable holds another one, which the program has made anew, this is over: its entries
    are other places.
    """

    def __init__(self, value: Any, read: Callable[[], Any]) -> None:
        self._identity, self._read, self._is_over = id(value), read, False

    def __call__(self) -> Any:
        value = self._read() if not self._is_over else None
        if value is not None and id(value) != self._identity:
            self._is_over, value = True, None
        return value


def _global(module: Any, name: str) -> Callable[[], Any]:
    """Return how to read a variable of a module."""
    reference = weakref.ref(module)

    def read() -> Any:
        found = reference()
        return vars(found).get(name) if found is not None else None

    return read


def _local(frame: types.FrameType, name: str) -> Callable[[], Any]:
    """Return how to read a variable of a call: the call is looked for among those that run, for a
    frame cannot be referred to weakly.
    """
    identity, code = id(frame), frame.f_code

    def read() -> Any:
        current: types.FrameType | None = sys._getframe(1)
        while current is not None:
            if id(current) == identity and current.f_code is code:
                return variables(current).get(name)
            current = current.f_back
        return None

    return read
