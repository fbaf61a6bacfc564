"""Other names of the memory that is watched.

RUNS IN the training process, when there is something to tell.
"""

from __future__ import annotations

import types
from typing import Any, Iterator, Mapping

from torch import Tensor, nn

from zentracer.frameworks.pytorch.data.ranges import Range
from zentracer.frameworks.pytorch.data.source import as_tensor, memory_of
from zentracer.frameworks.pytorch.data.target import Target
from zentracer.frameworks.pytorch.frames import user_frames, variables
from zentracer.frameworks.pytorch.live import held_by
from zentracer.frameworks.pytorch.modules import named_modules
from zentracer.observe.kinds import NUMPY, array_kind

_MAX_ENTRIES = 2000
"""Entries of one container that are looked at."""


def names_sharing(x: Tensor, target: Target, frame: types.FrameType | None) -> list[str]:
    """Return the names in the user's frames of tensors that lie in the memory of ``x``.

    Parameters of models come first, then variables and entries of dictionaries and lists; not the
    name of ``target`` itself.
    """
    watched = memory_of(x)
    if watched is None:
        return []
    found: dict[str, None] = {}
    later: dict[str, None] = {}
    seen: set[int] = set()
    for user in user_frames(frame):
        for space in (variables(user), user.f_globals):
            for name, value, is_parameter in _named(space):
                if target.source.is_value(value) or id(value) in seen:
                    continue
                if _overlaps(value, watched) and name != target.label:
                    seen.add(id(value))
                    (found if is_parameter else later)[name] = None
    return [*found, *later]


def _named(space: Mapping[str, Any]) -> Iterator[tuple[str, Any, bool]]:
    for name, value in list(space.items()):
        if name.startswith("__"):
            continue
        if isinstance(value, nn.Module):
            yield from _of_module(name, value)
        elif array_kind(type(value)):
            yield name, value, False
        elif issubclass(type(value), dict):
            for key, entry in list(dict.items(value))[:_MAX_ENTRIES]:
                if array_kind(type(entry)):
                    yield f"{name}[{_key(key)}]", entry, False
        elif type(value) in (list, tuple):
            for at, entry in enumerate(value[:_MAX_ENTRIES]):
                if array_kind(type(entry)):
                    yield f"{name}[{at}]", entry, False


def _of_module(name: str, model: nn.Module) -> Iterator[tuple[str, Any, bool]]:
    for path, module in named_modules(model):
        for table in ("_parameters", "_buffers"):
            for attribute, tensor in held_by(module, table):
                if tensor is not None:
                    yield ".".join(filter(None, (name, path, attribute))), tensor, True


def _key(key: Any) -> str:
    return f'"{key}"' if isinstance(key, str) else repr(key)[:40]


def _overlaps(value: Any, watched: Range) -> bool:
    try:
        x = as_tensor(value) if array_kind(type(value)) == NUMPY else value.detach()
        memory = memory_of(x)
    except (RuntimeError, TypeError, ValueError):  # it has no memory, or none of its own
        return False
    return memory is not None and memory[0] < watched[1] and watched[0] < memory[1]
