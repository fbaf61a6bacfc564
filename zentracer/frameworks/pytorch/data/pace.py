"""How often contents are compared of which no version counter tells: a small share of the time.

RUNS IN the training process.
"""

from __future__ import annotations

import time

SHARE = 0.02
"""Of the program's time."""
_MOST = 0.1
"""Seconds that may be saved up: small contents are compared at every safe point."""


class Pace:
    """Context of the comparing; ``may`` tells whether it is time for it."""

    def __init__(self) -> None:
        self._left, self._at = _MOST, time.perf_counter()
        self._start = 0.0

    def may(self) -> bool:
        """Tell whether there is time to compare."""
        now = time.perf_counter()
        self._left = min(_MOST, self._left + SHARE * (now - self._at))
        self._at = now
        return self._left > 0

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._left -= time.perf_counter() - self._start
