"""The parameters and buffers of a module, each once, under the names that the user can write.

RUNS IN the training process, inside ``unseen()``.
"""

from __future__ import annotations

import re
from typing import Any, Iterator, NamedTuple

from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from zentracer.control.pointed import Pointed
from zentracer.frameworks.pytorch.data.source import range_of
from zentracer.frameworks.pytorch.live import held_by
from zentracer.frameworks.pytorch.modules import named_modules, owner_of, root_modules
from zentracer.observe.kinds import array_kind
from zentracer.patches.change import Refused
from zentracer.watches import paths

_NUMBER = re.compile(r"\.(\d+)(?=\.|\[|$)")


class Held(NamedTuple):
    """A tensor that a module holds."""

    path: str
    """As in a state dict: ``0.weight``."""
    module: nn.Module
    attribute: str
    tensor: Tensor
    is_parameter: bool
    is_saved: bool
    """Whether a state dict has it."""


def held_below(module: nn.Module) -> Iterator[Held]:
    """Yield the parameters and buffers of a module and of those below it."""
    for path, one in named_modules(module):
        not_saved = getattr(one, "_non_persistent_buffers_set", ())
        for table in ("_parameters", "_buffers"):
            for attribute, tensor in held_by(one, table):
                if tensor is not None:
                    name = f"{path}.{attribute}" if path else attribute
                    is_saved = table == "_parameters" or attribute not in not_saved
                    yield Held(name, one, attribute, tensor, table == "_parameters", is_saved)


def once(held: Iterator[Held]) -> tuple[list[Held], list[str]]:
    """Return each piece of memory by its first name, and what is to be said of the others.

    Raises:
        Refused: two of them lie in part in the same memory, or one has none yet.
    """
    found: dict[Any, Held] = {}
    notes: list[str] = []
    for one in held:
        x = one.tensor
        if is_lazy(x):
            raise Refused(
                f"`{one.path}` has no shape yet: the first forward pass of its module gives it one."
            )
        memory = range_of(x)
        key = (memory, x.shape, x.stride()) if memory is not None else id(x)
        if key in found:
            notes.append(f"{one.path} and {found[key].path} are one tensor, which changed once")
        else:
            found[key] = one
    _refuse_overlaps(list(found.values()))
    return list(found.values()), notes


def _refuse_overlaps(held: list[Held]) -> None:
    ranges = [(range_of(one.tensor), one) for one in held]
    ordered = sorted((memory, one.path) for memory, one in ranges if memory is not None)
    for (first, a), (second, b) in zip(ordered, ordered[1:]):
        if second[0] < first[1]:
            raise Refused(
                f"`{a}` and `{b}` lie in part in the same memory: change one of them by itself."
            )


def owner(pointed: Pointed) -> tuple[nn.Module, str, list[str]] | None:
    """Return the module that holds the tensor that is pointed at, its attribute there, and the way.

    The way are the names from the model to the attribute, as far as they are known.
    """
    for at, value in enumerate(pointed.values):
        if not array_kind(type(value)) or not isinstance(value, Tensor):
            continue
        holder = pointed.values[at - 1] if at else None
        if isinstance(holder, nn.Module):
            for table in ("_parameters", "_buffers"):
                for attribute, tensor in held_by(holder, table):
                    if tensor is value:
                        return holder, attribute, way(pointed, at)
        found = owner_of(value, root_modules())
        if found is not None:
            return found.module, found.attribute, found.name.split(".")
        return None
    return None


def way(pointed: Pointed, up_to: int) -> list[str]:
    """Return the names of modules and attributes on the way to ``values[up_to]``."""
    names: list[str] = []
    for value, (_, name) in zip(pointed.values[:up_to], pointed.steps):
        names = [*names, str(name)] if isinstance(value, nn.Module) else []
    return names


def indices(pointed: Pointed, more: Any) -> list[Any]:
    """Return what the tensor that is pointed at is indexed with."""
    for at, value in enumerate(pointed.values):
        steps = pointed.steps[at:]
        if array_kind(type(value)) and all(reader is paths.item for reader, _ in steps):
            return [argument for _, argument in steps] + list(more)
    return list(more)


def written(label: str, path: str) -> str:
    """Return the expression of what is at ``path`` below ``label``: ``model[0].weight``."""
    return _NUMBER.sub(r"[\1]", f"{label}.{path}" if path else label)
