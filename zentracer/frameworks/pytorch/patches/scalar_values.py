"""What becomes of a number or a flag that is changed: a number of the same kind.

RUNS IN the training process.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from zentracer.observe.kinds import array_kind
from zentracer.patches.change import Refused

OPERATIONS = ("set", "scale", "add", "fill", "zero", "clamp")
"""What can be done to a number."""
_LONGEST = 8
"""Numbers in a tuple that is taken for one setting, such as ``betas``."""
_KINDS = (bool, int, float, complex)


class Made(NamedTuple):
    """The new value, and what is to be said of it."""

    value: Any
    text: str
    notes: tuple[str, ...] = ()


def is_number(value: Any) -> bool:
    """Tell whether a value is a number or a flag, of Python's or of NumPy's."""
    kind = type(value)
    return kind in _KINDS or (kind.__module__ == "numpy" and _is_numpy_number(value))


def is_scalar(value: Any) -> bool:
    """Tell whether a value is a number, a flag or a short tuple of such."""
    if type(value) is tuple:
        return 0 < len(value) <= _LONGEST and all(map(is_number, value))
    return is_number(value)


def is_alike(old: Any, new: Any) -> bool:
    """Tell whether both are numbers or flags, or tuples of as many of them."""
    if type(old) is tuple:
        return type(new) is tuple and len(new) == len(old) and is_scalar(new)
    return is_number(new)


def made(old: Any, op: str, value: Any, text: str, label: str, *, fractions: str) -> Made:
    """Return what an operation makes of ``old``.

    Args:
        old: what is there.
        op: one of ``OPERATIONS``.
        value: the operand.
        text: how the user wrote it.
        label: how the user calls the place.
        fractions: whether a whole number may become a fraction: ``yes``, ``said`` or ``no``.

    Raises:
        Refused: it does not fit there.
    """
    if op not in OPERATIONS:
        raise Refused(f"A number can be changed by {', '.join(OPERATIONS)}, not by `{op}`.")
    if type(old) is tuple:
        return _tuple(old, op, value, text, label, fractions)
    try:
        new, said = _computed(_plain(old), op, value, text, label)
        fitted = _fitted(old, new, label, fractions)
    except (OverflowError, TypeError, ValueError) as error:
        raise Refused(f"`{label}` was not changed: {error}.") from None
    return Made(fitted, said, _notes(old, fitted, label))


def brief(value: Any) -> str:
    """Return a value as the user would write it."""
    if type(value) is tuple:
        return f"({', '.join(map(brief, value))}{',' if len(value) == 1 else ''})"
    return repr(_plain(value))


def is_same(one: Any, other: Any) -> bool:
    """Tell whether two values are the same in kind and in value; NaN is itself."""
    return type(one) is type(other) and repr(one) == repr(other)


def _is_numpy_number(value: Any) -> bool:
    return type(_item(value)) in _KINDS


def _item(value: Any) -> Any:
    if array_kind(type(value)) or not hasattr(value, "item"):
        return value
    return value.item()


def _plain(value: Any) -> Any:
    return value if type(value) in _KINDS else _item(value)


def _computed(old: Any, op: str, value: Any, text: str, label: str) -> tuple[Any, str]:
    if isinstance(old, bool):
        if op not in ("set", "fill") or not isinstance(_operand(value, text), bool):
            raise Refused(f"`{label}` is a flag: set it to True or False.")
        return _operand(value, text), f"set to {text}"
    if op == "zero":
        return type(old)(0), "set to zero"
    if op == "clamp":
        return _clamped(old, value, text, label)
    operand = _operand(value, text)
    if isinstance(operand, bool):
        raise Refused(f"`{label}` is a number, and `{text}` is a flag.")
    if op == "scale":
        return old * operand, f"scaled by {text}"
    if op == "add":
        return old + operand, f"{text} added"
    return operand, f"set to {text}"


def _operand(value: Any, text: str) -> Any:
    if array_kind(type(value)) and not tuple(value.shape):
        value = value.item()
    if not is_number(value):
        raise Refused(f"`{text}` is no number.")
    return _plain(value)


def _clamped(old: Any, value: Any, text: str, label: str) -> tuple[Any, str]:
    if not isinstance(value, (tuple, list)) or len(value) != 2 or value[0] is value[1] is None:
        raise Refused(
            f"`{text}` is no range to clamp to: give two bounds, as in (-1, 1) or (None, 6)."
        )
    if isinstance(old, complex):
        raise Refused(f"`{label}` is complex, and has no order to clamp by.")
    low, high = (None if bound is None else _operand(bound, text) for bound in value)
    new = old if low is None else max(old, low)
    new = new if high is None else min(new, high)
    return new, f"clamped to {low} … {high}"


def _fitted(old: Any, new: Any, label: str, fractions: str) -> Any:
    """Return ``new`` in the type of ``old``.

    Raises:
        Refused: it loses something there.
    """
    plain = _plain(old)
    if isinstance(new, complex) and not isinstance(plain, complex):
        raise Refused(f"`{label}` cannot be a complex number.")
    if type(plain) is int and isinstance(new, float):
        if math.isfinite(new) and new == int(new):
            new = int(new)
        elif fractions == "no" or type(old) is not int:
            raise Refused(f"`{label}` is a whole number, {plain}; {new!r} is none.")
        else:
            return new
    fitted = type(old)(new)
    if type(old) in _KINDS:
        return fitted
    lost = _plain(fitted)
    is_lost = lost != new if type(plain) is int else _is_finite(new) and not _is_finite(lost)
    if is_lost:
        raise Refused(f"`{label}` is {type(old).__name__}: it cannot hold {new!r}.")
    return fitted


def _tuple(old: Any, op: str, value: Any, text: str, label: str, fractions: str) -> Made:
    if op != "set":
        raise Refused(f"`{label}` has {len(old)} numbers: set them all, or name one.")
    if not isinstance(value, (tuple, list)) or len(value) != len(old):
        raise Refused(f"`{label}` has {len(old)} numbers, and `{text}` has not.")
    parts = [
        made(was, "set", new, brief(new), f"{label}[{at}]", fractions=fractions)
        for at, (was, new) in enumerate(zip(old, value))
    ]
    notes = tuple(note for part in parts for note in part.notes)
    return Made(tuple(part.value for part in parts), f"set to {text}", notes)


def _notes(old: Any, new: Any, label: str) -> tuple[str, ...]:
    notes: list[str] = []
    if not _is_finite(_plain(new)):
        notes.append(f"{label} is {_plain(new)} now")
    if type(_plain(old)) is int and type(new) is float:
        notes.append(f"{label} was a whole number")
    return tuple(notes)


def _is_finite(value: Any) -> bool:
    if isinstance(value, complex):
        return math.isfinite(value.real) and math.isfinite(value.imag)
    return isinstance(value, int) or math.isfinite(value)
