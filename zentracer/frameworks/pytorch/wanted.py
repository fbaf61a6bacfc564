"""Everything that is wanted of the armed state, in one value.

RUNS IN the training process.
"""

from __future__ import annotations

from typing import NamedTuple

from zentracer.frameworks.base import ArmedData, ArmedFilter, ArmedFunction


class Wanted(NamedTuple):
    """The three lists, and how closely to look."""

    filters: tuple[ArmedFilter, ...] = ()
    functions: tuple[ArmedFunction, ...] = ()
    data: tuple[ArmedData, ...] = ()
    precise: bool = False
    """Check every operation; compare tensors as a whole."""

    @property
    def is_nothing(self) -> bool:
        """Whether every hook can go."""
        return not (self.filters or self.functions or self.data)
