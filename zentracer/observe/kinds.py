"""Which framework's array a type is, told from its name: nothing is imported for it.

RUNS IN the user's training process. Standard library only.
"""

from __future__ import annotations

import functools

TORCH = "torch"
NUMPY = "numpy"


@functools.cache
def array_kind(type_object: type) -> str:
    """``torch``, ``numpy`` or the empty string; decided once a type."""
    for base in type_object.__mro__:
        if base.__module__ == "torch" and base.__name__ == "Tensor":
            return TORCH
        if base.__module__ == "numpy" and base.__name__ == "ndarray":
            return NUMPY
    return ""
