"""From what the user points at to what a data breakpoint can watch.

RUNS IN the training process, on the stopped thread, inside ``unseen()``.
"""

from __future__ import annotations

from typing import Any, Iterable

import torch
from torch import Tensor, nn

from zentracer.control.pointed import Pointed
from zentracer.frameworks.pytorch.data.holders import holder_of
from zentracer.frameworks.pytorch.data.registry import target_for
from zentracer.frameworks.pytorch.data.source import as_tensor, own_part
from zentracer.frameworks.pytorch.data.target import Part, Target, part_of
from zentracer.frameworks.pytorch.live import held_by
from zentracer.frameworks.pytorch.modules import named_modules
from zentracer.observe.kinds import NUMPY, array_kind
from zentracer.observe.stats import facts_of
from zentracer.watches import paths


class Unwatchable(Exception):
    """There can be no data breakpoint; the text is a sentence for the user."""


def target_of(pointed: Pointed) -> Target:
    """Return what is watched.

    Raises:
        Unwatchable: nothing can be.
    """
    values, steps, label = pointed.values, pointed.steps, pointed.label
    at = last_array(pointed)
    holder = holder_of(values[: at + 1], steps[:at], label)
    if values[at] is None and holder is not None and holder.is_gradient:
        return target_for(None, holder, None, label)
    whole = _plain(values[at], label)
    if not steps and isinstance(whole, Tensor) and (base := _base(whole)) is not None:
        return target_for(base, None, part_of(base, whole), label)
    return target_for(whole, holder, _picked(whole, (i for _, i in steps[at:]), label), label)


def last_array(pointed: Pointed) -> int:
    """Return where on the way the tensor or array is of which the rest picks a part."""
    values, steps = pointed.values, pointed.steps
    for at, value in enumerate(values):
        if array_kind(type(value)) and all(reader is paths.item for reader, _ in steps[at:]):
            return at
    return len(values) - 1


def _base(x: Tensor) -> Tensor | None:
    """Return the tensor of which ``x`` is a view, made a moment ago maybe."""
    base = x._base
    same = base is not None and base.dtype is x.dtype and base.layout is torch.strided
    return base if same else None


def _plain(value: Any, label: str) -> Any:
    """Return the tensor or array whose memory can be watched.

    Raises:
        Unwatchable: there is none.
    """
    kind = array_kind(type(value))
    if not kind:
        raise Unwatchable(_no_array(value, label))
    value = own_part(value)
    facts = facts_of(value)
    if facts.data is None:
        why = facts.why or f"its elements are of type {facts.dtype}"
        raise Unwatchable(f"`{label}` has no values to watch: {why}.")
    if not facts.size:
        raise Unwatchable(f"`{label}` has no elements.")
    if kind == NUMPY:
        try:
            as_tensor(value)
        except (TypeError, ValueError) as error:
            raise Unwatchable(f"`{label}` cannot be watched: {error}") from None
    elif facts.data is not value or value.is_quantized:
        what = ", ".join(facts.notes) or type(value).__name__
        raise Unwatchable(
            f"`{label}` cannot be watched as a whole ({what}): what it shows is computed from "
            "other tensors; watch one of those."
        )
    return value


def _no_array(value: Any, label: str) -> str:
    if isinstance(value, nn.Module):
        return f"`{label}` is a module: watch one of its parameters{_such_as(value)}."
    if isinstance(value, (torch.TypedStorage, torch.UntypedStorage)):
        return f"`{label}` is a storage: watch the tensor that it belongs to."
    what = "None" if value is None else f"of type {type(value).__name__}"
    return (
        f"`{label}` is {what}: data breakpoints watch the memory of tensors and NumPy arrays, "
        "which other values do not have."
    )


def _such_as(module: nn.Module) -> str:
    for path, part in named_modules(module):
        for name, parameter in held_by(part, "_parameters"):
            if parameter is not None:
                return f", such as {f'{path}.' if path else ''}{name}"
    return ""


def _picked(whole: Any, indices: Iterable[Any], label: str) -> Part | None:
    """Return which part of ``whole`` some indices pick; None for all of it.

    Raises:
        Unwatchable: they pick a copy, or nothing.
    """
    x = part = whole.detach() if isinstance(whole, Tensor) else as_tensor(whole)
    for index in indices:
        part = part[index]
    if part.untyped_storage().data_ptr() != x.untyped_storage().data_ptr():
        raise Unwatchable(
            f"`{label}` copies elements into a new tensor; watch the whole, an element or a slice."
        )
    if not part.numel():
        raise Unwatchable(f"`{label}` has no elements.")
    return part_of(x, part)
