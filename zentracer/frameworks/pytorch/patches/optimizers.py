"""The live optimisers of the process, and which of them hold a parameter.

RUNS IN the training process, on the stopped thread, when something is changed. Looking at every
live object takes tens of milliseconds: what the running calls can reach is looked at first.
"""

from __future__ import annotations

import gc
import itertools
import types
import weakref
from typing import Any, Iterable, Iterator

import torch
from torch import Tensor

from zentracer.frameworks.pytorch.frames import user_frames, variables
from zentracer.frameworks.pytorch.live import with_subclasses

Optimizer = torch.optim.Optimizer
_found: dict[int, weakref.ref[Any]] = {}
"""What was met so far, by identity, so that it need not be looked for again."""


def live() -> list[Any]:
    """Return all optimisers."""
    _remember(instances_of(Optimizer))
    return _met()


def instances_of(*classes: type) -> list[Any]:
    """Return the live objects of classes and of those derived from them."""
    kinds = frozenset(kind for one in classes for kind in with_subclasses(one))
    objects = gc.get_objects()
    return list(itertools.compress(objects, map(kinds.__contains__, map(type, objects))))


def nearby(frame: types.FrameType | None) -> list[Any]:
    """Return those that were met before, or that the running calls have in reach."""
    for user in user_frames(frame):
        for space in (variables(user), user.f_globals):
            for value in list(space.values()):
                _remember(_within(value))
    return _met()


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
    for found in (_met, live):
        for optimizer in found():
            for number, candidate in enumerate(groups_of(optimizer)):
                if candidate is group:
                    return optimizer, number
    return None


def own_attributes(value: Any) -> dict[str, Any]:
    """Return what an object has in its own dictionary, without running any of its code."""
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return own if isinstance(own, dict) else {}


def _remember(optimizers: Iterable[Any]) -> None:
    for optimizer in optimizers:
        _found[id(optimizer)] = weakref.ref(optimizer)


def _met() -> list[Any]:
    alive = {identity: reference() for identity, reference in list(_found.items())}
    for identity, optimizer in alive.items():
        if optimizer is None:
            _found.pop(identity, None)
    return [optimizer for optimizer in alive.values() if optimizer is not None]


def _within(value: Any) -> Iterator[Any]:
    """Yield an optimiser, or those that an object, dict or list of the user's has."""
    kind = type(value)
    if issubclass(kind, Optimizer):
        yield value
        return
    if kind is dict:
        inner: Any = value.values()
    elif kind in (list, tuple):
        inner = value
    elif issubclass(kind, (types.ModuleType, type)) or kind.__module__ == "builtins":
        return
    else:
        inner = own_attributes(value).values()
    try:
        few = list(itertools.islice(inner, _MAX_ENTRIES))
    except RuntimeError:  # another thread has changed it meanwhile
        return
    yield from (one for one in few if issubclass(type(one), Optimizer))


_MAX_ENTRIES = 200
"""Entries of a container, attributes of an object, that are looked at."""
