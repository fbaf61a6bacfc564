"""How numbers read in a summary.

RUNS IN the user's training process. Standard library only.
"""

from __future__ import annotations

from typing import Any, Optional

_DIGITS = {"float64": 10, "complex128": 10, "float32": 6, "complex64": 6}


def short(number: Optional[float]) -> str:
    """Three significant digits."""
    return "?" if number is None else f"{number:.3g}"


def bound(number: float, dtype: str) -> str:
    """A minimum or maximum: integers in full, others with three significant digits."""
    return str(int(number)) if is_integer(dtype) else short(number)


def scalar(value: Any, dtype: str) -> str:
    """One element, with the digits its dtype carries."""
    if isinstance(value, (float, complex)):
        return f"{value:.{_DIGITS.get(dtype, 4)}g}"
    return str(value)


def is_integer(dtype: str) -> bool:
    """Whether ``dtype`` names an integer type, quantised ones excepted."""
    return dtype.startswith(("int", "uint"))


def byte_count(count: int) -> str:
    """``96 B``, ``3.8 kB``, ``1.2 GB``: powers of 1000."""
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def plural(count: int, word: str) -> str:
    """``1 parameter``, ``2 parameters``."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"
