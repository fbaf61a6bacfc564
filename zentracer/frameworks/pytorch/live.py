"""The live modules of the process, read while other threads change them.

RUNS IN the training process, on the link's thread. Whoever trains must not feel it: work is done
in short pieces, between which the interpreter belongs to the others, and no code of the user's
runs. Only what an object holds in its own dictionary is read.
"""

from __future__ import annotations

import gc
import itertools
import time
from typing import Any, Sequence

from torch import nn

_PIECE_SECONDS = 0.001
_REST_SECONDS = 0.0002
_PIECE_OBJECTS = 20_000
"""Objects that are looked through in about a millisecond."""
_TRIES = 8
_GENERATIONS = 3
_attributes = object.__getattribute__


class Pace:
    """Lets the other threads work now and then."""

    def __init__(self) -> None:
        self._rest_at = time.perf_counter() + _PIECE_SECONDS

    def step(self) -> None:
        """Rest if the last rest is a while ago."""
        if time.perf_counter() >= self._rest_at:
            time.sleep(_REST_SECONDS)
            self._rest_at = time.perf_counter() + _PIECE_SECONDS


def live_roots(pace: Pace) -> list[nn.Module]:
    """Return the modules that are no part of another."""
    found = _collect(pace)
    inner: set[int] = set()
    for module in found.values():
        inner.update([id(child) for _, child in children_of(module)])
        pace.step()
    return [module for identity, module in found.items() if identity not in inner]


def children_of(module: nn.Module) -> Sequence[tuple[str, nn.Module]]:
    """Return the names and modules directly below ``module``."""
    held = held_by(module, "_modules")
    return [entry for entry in held if entry[1] is not None] if held else held


def held_by(thing: Any, table: str) -> Sequence[tuple[str, Any]]:
    """Return the entries of ``_modules`` or ``_parameters`` of a module; none if it has no such.

    A module that is just being built has none.
    """
    try:
        entries = _attributes(thing, "__dict__").get(table)
    except AttributeError:
        return ()
    if not entries:
        return ()
    if not isinstance(entries, dict) and not type(entries).__module__.startswith("torch."):
        return ()  # torch's own stand-ins for those of scripted modules are read like a dict
    for _ in range(_TRIES):
        try:
            return list(entries.items())
        except RuntimeError:  # it was changed meanwhile
            continue
    return ()


def _collect(pace: Pace) -> dict[int, nn.Module]:
    kinds = frozenset(with_subclasses(nn.Module))
    found: dict[int, nn.Module] = {}
    for generation in range(_GENERATIONS):  # objects only ever move to an older one
        objects = gc.get_objects(generation)
        while objects:  # what has been looked at is let go at once: it may be large tensors
            piece = objects[-_PIECE_OBJECTS:]
            del objects[-_PIECE_OBJECTS:]
            are_modules = map(kinds.__contains__, map(type, piece))
            piece = list(itertools.compress(piece, are_modules))
            found.update(zip(map(id, piece), piece))
            pace.step()
    return found


def with_subclasses(kind: type) -> list[type]:
    """Return a class and all that are derived from it."""
    found, seen = [kind], {kind}
    for known in found:  # grows meanwhile
        for following in type.__subclasses__(known):
            if following not in seen:
                seen.add(following)
                found.append(following)
    return found
