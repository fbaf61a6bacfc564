"""Elements as exact text: the shortest that reads back as the same number in its own type.

RUNS IN the user's training process. Standard library only.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple


class Precision(NamedTuple):
    """How finely a floating-point type divides the numbers."""

    bits: int
    """Of the significand, the hidden one included."""
    exponent: int
    """Smallest exponent of a normal number."""


_TYPES = {
    "float32": Precision(24, -126),
    "complex64": Precision(24, -126),
    "float16": Precision(11, -14),
    "complex32": Precision(11, -14),
    "bfloat16": Precision(8, -126),
    "float8_e4m3fn": Precision(4, -6),
    "float8_e4m3fnuz": Precision(4, -7),
    "float8_e5m2": Precision(3, -14),
    "float8_e5m2fnuz": Precision(3, -15),
    "float8_e8m0fnu": Precision(1, -127),
}
_SINGLE = _TYPES["float32"]


def cell_text(value: Any, dtype: str) -> str:
    """One element, as ``tolist()`` gives it, in full.

    Args:
        value: A Python number, or what numpy gives for a type that Python lacks.
        dtype: Name of the element's type; quantised ones count as float32.
    """
    if isinstance(value, float):
        return _float_text(value, dtype)
    if isinstance(value, complex):
        imaginary = _float_text(value.imag, dtype)
        sign = "" if imaginary.startswith("-") else "+"
        return f"{_float_text(value.real, dtype)}{sign}{imaginary}j"
    return str(value)


def _float_text(number: float, dtype: str) -> str:
    if not math.isfinite(number) or dtype in ("float64", "complex128"):
        return repr(number)
    return repr(_shortest(number, _TYPES.get(dtype, _SINGLE)))


def _shortest(number: float, precision: Precision) -> float:
    """The decimal of fewest digits that is nearer to ``number`` than to its neighbours."""
    fraction, exponent = math.frexp(number)
    is_normal = exponent - 1 >= precision.exponent
    spacing = math.ldexp(1.0, max(exponent - 1, precision.exponent) + 1 - precision.bits)
    below = spacing / 2 if abs(fraction) == 0.5 else spacing  # a power of two: finer below
    # So many digits survive in any normal number: with them, fewer would show as fewer.
    digits = max(1, (precision.bits - 1) * 30103 // 100000) if is_normal else 1
    while True:
        short = float(f"{number:.{digits}g}")
        difference = abs(short) - abs(number)
        if -below / 2 < difference < spacing / 2 or digits >= 17:
            return short
        digits += 1
