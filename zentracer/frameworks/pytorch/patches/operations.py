"""What can be done to the numbers of a tensor, each as a function of what is there.

RUNS IN the training process, inside ``unseen()``. Nothing here writes into what is there, and none
of the user's generators is asked for random numbers.
"""

from __future__ import annotations

import os
from typing import Any, Callable, NamedTuple

import torch
from torch import Tensor

from zentracer.frameworks.pytorch.patches.operands import fitting, operand
from zentracer.patches.change import Refused


class Computed(NamedTuple):
    """What an operation makes of what is there."""

    new: Tensor
    """In the shape, the type and on the device of what is there."""
    text: str
    """What was done, for the list of changes."""
    notes: tuple[str, ...] = ()
    statement: str = ""
    """The same in Python, with ``{}`` for the target; empty if there is no such statement."""


Operation = Callable[[Tensor, Any, str, str], Computed]
"""``(what is there, value, its text, label of the target)``."""


def _set(there: Tensor, value: Any, text: str, label: str) -> Computed:
    new, notes = operand(value, there, label)
    return Computed(new, f"set to {text}", notes, f"{{}}.copy_(torch.as_tensor({text}))")


def _copy(there: Tensor, value: Any, text: str, label: str) -> Computed:
    if not isinstance(value, Tensor):
        raise Refused(f"`{text}` is no tensor to copy from.")
    new, notes = operand(value, there, label)
    return Computed(new, f"copied from {text}", notes, f"{{}}.copy_({text})")


def _fill(there: Tensor, value: Any, text: str, label: str) -> Computed:
    new, notes = operand(_number(value, text), there, label)
    return Computed(new, f"filled with {text}", notes, f"{{}}.fill_({text})")


def _zero(there: Tensor, value: Any, text: str, label: str) -> Computed:
    return Computed(torch.zeros_like(there), "set to zero", (), "{}.zero_()")


def _scale(there: Tensor, value: Any, text: str, label: str) -> Computed:
    factor = _as_operand(value, there, label)
    new = _in_type(there, lambda wide: wide * factor, label)
    return Computed(new, f"scaled by {text}", (), f"{{}}.mul_({text})")


def _add(there: Tensor, value: Any, text: str, label: str) -> Computed:
    term = _as_operand(value, there, label)
    new = _in_type(there, lambda wide: wide + term, label)
    return Computed(new, f"{text} added", (), f"{{}}.add_({text})")


def _clamp(there: Tensor, value: Any, text: str, label: str) -> Computed:
    if not isinstance(value, (tuple, list)) or len(value) != 2 or value[0] is value[1] is None:
        raise Refused(
            f"`{text}` is no range to clamp to: give two bounds, as in (-1, 1) or (None, 6)."
        )
    low, high = (None if bound is None else _number(bound, text) for bound in value)
    if there.is_complex():
        raise Refused(f"`{label}` is complex, and has no order to clamp by.")
    new = fitting(torch.clamp(there, low, high), there, label)
    return Computed(new, f"clamped to {low} … {high}", (), f"{{}}.clamp_({low}, {high})")


def _noise(there: Tensor, value: Any, text: str, label: str) -> Computed:
    """Add normal noise of a standard deviation, from a generator of our own."""
    deviation = _number(value, text)
    if not there.is_floating_point():
        raise Refused(f"`{label}` holds whole numbers; noise goes into floating-point ones.")
    if not deviation >= 0:
        raise Refused(f"The standard deviation of the noise, `{text}`, is not positive.")
    drawn = torch.randn(there.shape, generator=own_generator(), dtype=torch.float32)
    noise = drawn.to(there.device, there.dtype) * deviation
    statement = f"{{}}.add_(torch.randn({list(there.shape)}) * {text})"
    return Computed(there + noise, f"normal noise of σ {text} added", (), statement)


def _computed(there: Tensor, value: Any, text: str, label: str) -> Computed:
    """Have done what was worked out before."""
    return value(there, label)


OPERATIONS: dict[str, Operation] = {
    "set": _set,
    "copy": _copy,
    "fill": _fill,
    "zero": _zero,
    "scale": _scale,
    "add": _add,
    "clamp": _clamp,
    "noise": _noise,
    "reinit": _computed,
    "load": _computed,
}


def own_generator() -> torch.Generator:
    """Return a generator that is nobody else's, on the CPU."""
    generator = torch.Generator()
    generator.manual_seed(int.from_bytes(os.urandom(7), "little"))
    return generator


def _number(value: Any, text: str) -> Any:
    if isinstance(value, Tensor) and value.numel() == 1:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float, complex)):
        raise Refused(f"`{text}` is no number.")
    return value


def _as_operand(value: Any, there: Tensor, label: str) -> Any:
    """Return a number as it is, a tensor in a shape that goes with what is there."""
    if isinstance(value, (int, float, complex)) and not isinstance(value, bool):
        if isinstance(value, complex) and not there.is_complex():
            raise Refused(f"`{label}` cannot hold complex numbers.")
        return value
    if there.dtype is torch.bool:
        raise Refused(f"`{label}` is bool: set it to True or False.")
    wide = there if there.is_floating_point() or there.is_complex() else there.double()
    return operand(value, wide, label)[0]


def _in_type(there: Tensor, compute: Callable[[Tensor], Tensor], label: str) -> Tensor:
    """Compute without overflow where the type is one of whole numbers."""
    if there.dtype is torch.bool:
        raise Refused(f"`{label}` is bool: set it to True or False.")
    if there.is_floating_point() or there.is_complex():
        new = compute(there)
        if new.dtype is not there.dtype:
            new = new.to(there.dtype)
        return new
    wide, exact = compute(there.double()), compute(there.long())
    if exact.is_floating_point():
        return fitting(wide, there, label)
    if bool((wide.abs() >= 2.0**63).any()):  # where the exact one has wrapped around
        raise Refused(f"`{label}` is {str(there.dtype).rpartition('.')[2]}: that is beyond it.")
    return fitting(exact, there, label)
