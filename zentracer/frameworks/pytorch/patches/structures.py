"""What a module gives, with other tensors in it.

RUNS IN the training process, as part of the user's forward pass.
"""

from __future__ import annotations

import copy
import dataclasses
from typing import Any, Callable, Iterator

from torch import Tensor


def mapped(value: Any, change: Callable[[Tensor], Tensor]) -> tuple[Any, int]:
    """Return the same structure with its tensors changed, and how many there are.

    Of tuples, lists, dictionaries (also those with attributes, as models of Hugging Face give),
    and data classes; anything else is left as it is.
    """
    if isinstance(value, Tensor):
        return change(value), 1
    if isinstance(value, tuple):
        items, count = _all(value, change)
        if hasattr(value, "_fields"):
            return type(value)._make(items), count  # type: ignore[attr-defined]
        return (tuple(items) if type(value) is tuple else type(value)(items)), count
    if isinstance(value, list):
        items, count = _all(value, change)
        return (items if type(value) is list else type(value)(items)), count
    if isinstance(value, dict):
        new, count = copy.copy(value), 0
        for key, one in list(value.items()):
            new[key], more = mapped(one, change)
            count += more
        return new, count
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _data_class(value, change)
    return value, 0


def first_tensor(value: Any) -> Tensor | None:
    """Return the first tensor in a structure."""
    return next(_tensors(value), None)


def _all(values: Any, change: Callable[[Tensor], Tensor]) -> tuple[list[Any], int]:
    made = [mapped(one, change) for one in values]
    return [one for one, _ in made], sum(count for _, count in made)


def _data_class(value: Any, change: Callable[[Tensor], Tensor]) -> tuple[Any, int]:
    new, count = copy.copy(value), 0
    for field in dataclasses.fields(value):
        made, more = mapped(getattr(value, field.name), change)
        if more:
            object.__setattr__(new, field.name, made)
        count += more
    return new, count


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from _tensors(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from _tensors(one)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from _tensors(getattr(value, field.name))
