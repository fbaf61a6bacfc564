"""What a numpy array is, told from metadata alone.

RUNS IN the user's training process. numpy is only used if the user has imported it.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

from zentracer.observe.facts import NOT_COMPUTED, Facts
from zentracer.observe.numpy_moments import NUMBER_KINDS


def numpy_facts(array: Any) -> Facts:
    """Describe ``array`` (an instance of ``numpy.ndarray`` or a subclass)."""
    numpy = sys.modules["numpy"]
    special = _special_type(type(array))
    plain = numpy.ndarray.view(array, numpy.ndarray)
    facts = Facts(plain.shape, dtype_name(plain.dtype), "cpu", why="")
    if special == "memmap":
        facts.notes = ("memmap",)  # its pages may have to come from a disk
        facts.why = NOT_COMPUTED
    elif plain.dtype.kind in NUMBER_KINDS:
        facts.data = plain
        facts.on_host = True
        if special == "masked":
            _mask(facts, array, numpy)
    return facts


def dtype_name(dtype: Any) -> str:
    """``float32``; ``struct(a, b)`` for records; numpy's own spelling for text and dates."""
    if dtype.names:
        return f"struct({', '.join(dtype.names)})"
    return dtype.name if dtype.kind in NUMBER_KINDS or dtype.kind == "O" else str(dtype)


def _mask(facts: Facts, array: Any, numpy: Any) -> None:
    mask = numpy.ma.getmaskarray(array)
    masked = int(mask.sum())
    facts.notes = (f"masked {masked}",)
    if masked:
        facts.data = facts.data[~mask]


@functools.cache
def _special_type(type_object: type) -> str:
    for base in type_object.__mro__:
        if base.__module__.partition(".")[0] == "numpy":
            if base.__name__ == "memmap":
                return "memmap"
            if base.__name__ == "MaskedArray":
                return "masked"
    return ""
