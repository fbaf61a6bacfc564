"""The live optimisers of the process, and which of them hold a parameter.

RUNS IN the training process, on the stopped thread, when something is changed. Looking at every
live object takes tens of milliseconds: what the running calls can reach is looked at first.
"""

from __future__ import annotations

import gc
import itertools
import types
import weakref
from typing import Any, Iterator

import torch
from torch import Tensor

from zentracer.frameworks.pytorch.frames import user_frames, variables
from zentracer.frameworks.pytorch.live import with_subclasses

Optimizer = torch.optim.Optimizer
_found: weakref.WeakSet[Any] = weakref.WeakSet()
"""What was met so far, so that it need not be looked for again."""


def live() -> list[Any]:
    """Return all optimisers, those first that were met first."""
    _found.update(instances_of(Optimizer))
    return list(_found)


def instances_of(kind: type) -> list[Any]:
    """Return the live objects of a class and of those derived from it."""
    kinds = frozenset(with_subclasses(kind))
    objects = gc.get_objects()
    return list(itertools.compress(objects, map(kinds.__contains__, map(type, objects))))


def nearby(frame: types.FrameType | None) -> list[Any]:
    """Return those that were met before, or that the running calls have in reach."""
    for user in user_frames(frame):
        for space in (variables(user), user.f_globals):
            for value in list(space.values()):
                _found.update(_within(value))
    return list(_found)


def holding(parameter: Any, optimizers: list[Any]) -> list[Any]:
    """Return those that train ``parameter``."""
    return [o for o in optimizers if any(p is parameter for p in parameters_of(o))]


def parameters_of(optimizer: Any) -> Iterator[Tensor]:
    """Yield what an optimiser trains."""
    for group in groups_of(optimizer):
        yield from group.get("params", ())


def groups_of(optimizer: Any) -> list[dict[str, Any]]:
    """Return the parameter groups; none of one that is just being built."""
    return list(getattr(optimizer, "param_groups", ()))


def is_group(value: Any) -> bool:
    """Tell whether a dict looks like a parameter group."""
    return type(value) is dict and isinstance(value.get("params"), list)


def with_group(group: Any) -> tuple[Any, int] | None:
    """Return the optimiser that has a parameter group, and the number of that."""
    for optimizer in itertools.chain(list(_found), live()):
        for number, candidate in enumerate(groups_of(optimizer)):
            if candidate is group:
                return optimizer, number
    return None


def _within(value: Any) -> Iterator[Any]:
    """Yield an optimiser, or those that an object, dict or list of the user's has."""
    if isinstance(value, Optimizer):
        yield value
        return
    kind = type(value)
    if kind is dict:
        inner: Any = value.values()
    elif kind in (list, tuple):
        inner = value
    elif isinstance(value, (types.ModuleType, type)) or kind.__module__ == "builtins":
        return
    else:
        inner = getattr(value, "__dict__", None)
        inner = inner.values() if type(inner) is dict else ()
    yield from (one for one in list(inner)[:_MAX_ENTRIES] if issubclass(type(one), Optimizer))


_MAX_ENTRIES = 200
"""Entries of a container, attributes of an object, that are looked at."""
