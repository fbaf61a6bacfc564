"""How often contents are compared of which no version counter tells: a small share of the time.

RUNS IN the training process.
"""

from __future__ import annotations

import time

SHARE = 0.002
"""Of the program's time."""
_MOST = 0.1
"""Seconds that may be saved up: small contents are compared at every safe point."""


class Pace:
    """Context of the comparing at safe points; ``may`` tells whether there is time for it."""

    def __init__(self) -> None:
        self._left, self._at = _MOST, time.perf_counter()
        self._compares = False

    def may(self) -> bool:
        """Tell whether there is time to compare."""
        now = time.perf_counter()
        passed, self._at = now - self._at, now
        self._left = min(_MOST, self._left + SHARE * passed)
        if self._compares:
            self._left -= passed
        return self._left > 0

    def __enter__(self) -> Pace:
        self.may()
        self._compares = True
        return self

    def __exit__(self, *_: object) -> None:
        self.may()
        self._compares = False
