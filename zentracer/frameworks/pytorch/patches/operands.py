"""What the user gives to a change, as a tensor that goes into its place without surprise.

RUNS IN the training process, inside ``unseen()``.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from zentracer.frameworks.pytorch.data.source import as_tensor
from zentracer.observe.kinds import NUMPY, array_kind
from zentracer.observe.stats import error_text
from zentracer.patches.change import Refused


def operand(value: Any, like: Tensor, label: str) -> tuple[Tensor, tuple[str, ...]]:
    """Return ``value`` on the device of ``like``, in its shape, and what is to be said of that.

    It has the type of ``like`` if that is what it takes to be put there.

    Raises:
        Refused: it does not fit, or the type cannot hold it.
    """
    x = _tensor(value, like)
    notes: list[str] = []
    if x.device != like.device:
        x = x.to(like.device)
    fitted = fitting(x, like, label)
    if fitted.shape != like.shape:
        try:
            fitted = torch.broadcast_to(fitted, like.shape)
        except RuntimeError:
            raise Refused(
                f"`{label}` is {_shape(like)}, and {_shape(x)} does not broadcast to that."
            ) from None
        if x.numel() > 1:
            notes.append(f"{_shape(x)} was broadcast to {_shape(like)}")
    return fitted, tuple(notes)


def fitting(x: Tensor, like: Tensor, label: str) -> Tensor:
    """Return ``x`` in the type of ``like``.

    Raises:
        Refused: the type cannot hold it.
    """
    dtype = like.dtype
    if x.dtype is dtype:
        return x
    name = str(dtype).rpartition(".")[2]
    if x.is_complex() and not dtype.is_complex:
        raise Refused(f"`{label}` is {name}: it cannot hold complex numbers.")
    if dtype.is_floating_point or dtype.is_complex:
        made = x.to(dtype)
        if bool((torch.isfinite(x) & ~torch.isfinite(made)).any()):
            raise Refused(f"`{label}` is {name}, whose largest value is {_largest(dtype):g}.")
        return made
    return _whole_numbers(x, dtype, name, label)


def values_note(x: Tensor) -> tuple[str, ...]:
    """Say if there is NaN or Inf in what was put there."""
    if not (x.is_floating_point() or x.is_complex()):
        return ()
    bad = int(torch.count_nonzero(~torch.isfinite(x)))
    return (f"{bad} of {x.numel()} elements are NaN or Inf now",) if bad else ()


def _tensor(value: Any, like: Tensor) -> Tensor:
    kind = array_kind(type(value))
    if kind == NUMPY:
        return as_tensor(value)
    if isinstance(value, Tensor):
        return value.detach()
    try:
        if _holds_floats(value):
            # In the type itself: a Python number has more digits than float32 shows.
            return torch.tensor(value, dtype=torch.float64)
        return torch.tensor(value)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise Refused(f"That is no number and no tensor: {error_text(error)}") from None


def _holds_floats(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_holds_floats, value))
    return isinstance(value, float)


def _whole_numbers(x: Tensor, dtype: torch.dtype, name: str, label: str) -> Tensor:
    if dtype is torch.bool:
        if x.dtype is not torch.bool and not bool(((x == 0) | (x == 1)).all()):
            raise Refused(f"`{label}` is bool: it holds True and False.")
        return x.to(dtype)
    if x.is_floating_point() and not bool((torch.isfinite(x) & (x == torch.floor(x))).all()):
        raise Refused(f"`{label}` is {name}: it holds whole numbers.")
    info = torch.iinfo(dtype)
    if x.dtype is not torch.bool and x.numel():
        low, high = x.min().item(), x.max().item()
        if low < info.min or high > info.max:
            raise Refused(f"`{label}` is {name}: it holds {info.min} to {info.max}.")
    return x.to(dtype)


def _largest(dtype: torch.dtype) -> float:
    real = {torch.complex64: torch.float32, torch.complex128: torch.float64}
    return torch.finfo(real.get(dtype, dtype)).max


def _shape(x: Tensor) -> str:
    name = str(x.dtype).rpartition(".")[2]
    return f"{name}[{', '.join(map(str, x.shape))}]"
