"""All that can have a data breakpoint in this process, by its ``data_id``.

RUNS IN the training process. The same tensor (or part) in the same place has the same id, for as
long as it lives; a forked child knows those of its parent.
"""

from __future__ import annotations

import itertools
import uuid
from typing import Any

from torch import Tensor

from zentracer.frameworks.pytorch.data.holders import Holder
from zentracer.frameworks.pytorch.data.source import Source
from zentracer.frameworks.pytorch.data.target import Part, Target

_MAX_TARGETS = 100_000
_run = uuid.uuid4().hex[:8]
_numbers = itertools.count(1)
_targets: dict[str, Target] = {}
_known: dict[tuple[Any, ...], Target] = {}


def target_for(value: Any, holder: Holder | None, part: Part | None, label: str) -> Target:
    """Return the target that watches ``value``, or a part of it.

    Args:
        value: a tensor or an array; None where the holder holds nothing yet.
        holder: the place where it was found.
        part: what of it is watched; None for the whole.
        label: how the user calls it.
    """
    itself = ("value", _identity(value))
    place = holder.key if holder is not None else itself
    source = _source(place, value, holder)
    source.follow(value)  # the place may hold another tensor than when it was last asked for
    known = _known.get((id(source), part))
    if known is not None and known.source is source:
        return known
    if len(_targets) >= _MAX_TARGETS:
        _prune()
    target = Target(f"{_run}-{next(_numbers)}", source, part, label)
    _targets[target.data_id] = _known[(id(source), part)] = target
    _sources[place] = source
    if value is not None:
        _sources[itself] = source  # the same tensor, found in another way
    return target


def find(data_id: str) -> Target | None:
    """Return the target with an id; None if it is another process's or an earlier run's."""
    return _targets.get(data_id)


_sources: dict[tuple[Any, ...], Source] = {}


def _source(place: tuple[Any, ...], value: Any, holder: Holder | None) -> Source:
    known = _sources.get(place)
    if known is not None and known.matches(value, holder):
        return known
    return Source(value, holder)


def _identity(value: Any) -> tuple[str, int]:
    """An array or tensor by itself; what was only made to be shown, by its memory."""
    return ("tensor" if isinstance(value, Tensor) else "array", id(value))


def _prune() -> None:
    for data_id, target in list(_targets.items()):
        if target.source.is_gone:
            del _targets[data_id]
    alive = {id(target) for target in _targets.values()}
    for table in (_known,):
        for key, target in list(table.items()):
            if id(target) not in alive:
                del table[key]
    used = {id(target.source) for target in _targets.values()}
    for place, source in list(_sources.items()):
        if id(source) not in used:
            del _sources[place]
