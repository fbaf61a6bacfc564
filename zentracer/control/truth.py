"""When a condition holds.

RUNS IN the training process.
"""

from __future__ import annotations

import sys
from typing import Any


def holds(value: Any) -> bool:
    """Return the truth of a condition's value; a tensor or array is true with any true element.

    Raises:
        Exception: whatever the value raises when it is asked for its truth.
    """
    if value is True or value is False:
        return value
    return bool(value.any()) if is_array(value) else bool(value)


def is_array(value: Any) -> bool:
    """Return whether ``value`` is a tensor or array of a framework that the user has loaded."""
    return any(
        cls is not None and isinstance(value, cls)
        for cls in (_loaded("torch", "Tensor"), _loaded("numpy", "ndarray"))
    )


def _loaded(module: str, name: str) -> Any:
    return getattr(sys.modules.get(module), name, None)
