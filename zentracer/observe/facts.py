"""What an array is, told from metadata alone.

RUNS IN the user's training process. Standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional, Tuple

from zentracer.observe.sampling import product

LAZY = "uninitialised (lazy)"
META = "meta: no data"
FAKE = "fake: no data"
FREED = "storage freed: no data"
NOT_COMPUTED = "…"


@dataclass
class Facts:
    """Metadata of one tensor or array."""

    shape: Optional[Tuple[Any, ...]]
    """One entry a dimension: an int, or text where the size has no number; None if unknown."""
    dtype: str
    device: str
    notes: Tuple[str, ...] = ()
    """What is unusual about the array, in words: layout, quantisation, transforms."""
    data: Any = None
    """The strided array whose elements may be read, or None."""
    on_host: bool = False
    """Whether reading ``data`` needs no synchronisation with an accelerator."""
    why: str = NOT_COMPUTED
    """Why there are no statistics, when there are none; may be empty."""

    @property
    def size(self) -> int:
        """Number of elements, 0 when unknown."""
        return product(self.shape) if self.shape is not None and is_numeric(self.shape) else 0

    @property
    def sizes(self) -> Tuple[int, ...]:
        """The shape as numbers, -1 for a dimension whose size has no number."""
        return tuple([size if type(size) is int else -1 for size in self.shape or ()])


def is_numeric(shape: Any) -> bool:
    """Whether every size is a plain number; symbolic ones must not even be compared."""
    return all([type(size) is int for size in shape])
