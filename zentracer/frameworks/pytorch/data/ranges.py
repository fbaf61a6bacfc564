"""Which of many pieces of memory are touched by a write: found in logarithmic time.

RUNS IN the training process, at each torch call that writes.
"""

from __future__ import annotations

import bisect
from typing import Generic, Iterable, TypeVar

T = TypeVar("T")
Range = tuple[int, int]
"""First address, and the one behind the last."""


class Ranges(Generic[T]):
    """Things by the memory that they take; several may share it.

    Ranges of about the same length are kept together: within such a class, those that a write
    touches begin less than one length before it, so two bisections find them.
    """

    def __init__(self, entries: Iterable[tuple[Range, T]] = ()) -> None:
        self._classes: dict[int, tuple[list[int], list[tuple[Range, T]], int]] = {}
        by_class: dict[int, list[tuple[Range, T]]] = {}
        for entry in entries:
            by_class.setdefault((entry[0][1] - entry[0][0]).bit_length(), []).append(entry)
        self.low = min((e[0][0] for found in by_class.values() for e in found), default=0)
        """Below this address nothing is watched."""
        self.high = max((e[0][1] for found in by_class.values() for e in found), default=0)
        for number, found in by_class.items():
            found.sort(key=lambda entry: entry[0])
            longest = max(high - low for (low, high), _ in found)
            self._classes[number] = ([low for (low, _), _ in found], found, longest)

    def touching(self, written: Range) -> list[T]:
        """Return what shares at least one byte with ``written``."""
        start, end = written
        if end <= self.low or start >= self.high:
            return []
        found: list[T] = []
        for starts, entries, longest in self._classes.values():
            first = bisect.bisect_right(starts, start - longest)
            last = bisect.bisect_left(starts, end, first)
            found += [thing for (_, high), thing in entries[first:last] if high > start]
        return found
