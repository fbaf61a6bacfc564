"""How a value reads within a line of text, such as the message of a log point.

RUNS IN the user's training process.
"""

from __future__ import annotations

from typing import Any

from zentracer.observe.facts import Facts
from zentracer.observe.kinds import TORCH
from zentracer.observe.quiet import quiet
from zentracer.observe.stats import facts_of, may_wait
from zentracer.present.kinds import is_array, kind_of
from zentracer.present.short_repr import short_tensor_reprs
from zentracer.present.summary import summary


def inline(value: Any, spec: str = "") -> str:
    """Return ``value`` as text: the number of a scalar, the summary line of a larger tensor.

    Args:
        value: anything.
        spec: a format, ``.3f``; a tensor with one element is formatted as its number.

    Raises:
        Exception: what the format or the value's own ``__format__`` raises.
    """
    if is_array(value):
        facts = facts_of(value)
        if facts.shape == () or (spec and facts.size == 1):
            number = _number(value, facts)
            if number is not None:
                return format(number, spec)
        if spec:
            raise TypeError(f"the format '{spec}' needs one number, not {summary(value)}")
        return summary(value)
    if not spec and kind_of(type(value)):
        return summary(value)
    with short_tensor_reprs():
        return format(value, spec)


def _number(value: Any, facts: Facts) -> Any:
    """Return the only element with the digits its type carries; None if it cannot be read."""
    if facts.data is None or not may_wait(facts):
        return None
    if kind_of(type(value)) != TORCH:
        return _rounded(facts.data.reshape(-1).tolist()[0], facts.dtype)
    with quiet():
        data = facts.data.dequantize() if facts.data.is_quantized else facts.data
        return _rounded(data.reshape(-1)[0].item(), facts.dtype)


_DIGITS = {"float64": 16, "float32": 7}


def _rounded(number: Any, dtype: str) -> Any:
    if isinstance(number, float):
        return float(f"{number:.{_DIGITS.get(dtype, 4)}g}")
    return number
