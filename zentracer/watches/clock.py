"""Where a run stands: its stops and its steps.

RUNS IN the user's training process. Standard library only.
"""

from __future__ import annotations

import time
from types import FrameType
from typing import Callable, NamedTuple, Optional, Set


class Moment(NamedTuple):
    """When and where a value was seen."""

    stop: Optional[int]
    """Number of the stop, as the editor counts them; None between two stops."""
    step: Optional[int]
    """Training steps completed; None when steps are not seen."""
    line: Optional[int]
    """Where the frame of the expression stood; None between two stops."""
    time: float
    """Seconds since 1970."""


class Clock:
    """Counts the stops, and knows whom to ask for the step."""

    def __init__(self) -> None:
        self.stops = 0
        self.when_stopped: Set[Callable[[], None]] = set()
        """Whom to tell of each stop, on the thread that stops; none may raise."""
        self.when_resumed: Set[Callable[[], None]] = set()
        """Whom to tell before the program goes on."""
        self.step: Callable[[], Optional[int]] = _no_step
        """Training steps completed; a framework that sees steps sets it."""

    def forget(self) -> None:
        """Begin anew: this is a forked child, with stops of its own."""
        self.stops = 0

    def stopped(self) -> None:
        """The editor is told of a stop."""
        self.stops += 1
        for tell in tuple(self.when_stopped):
            tell()

    def resumed(self) -> None:
        """The stop is over; the program goes on after this."""
        for tell in tuple(self.when_resumed):
            tell()

    def at_stop(self, frame: FrameType) -> Moment:
        """The present stop."""
        return Moment(self.stops, self.step(), frame.f_lineno, time.time())


def _no_step() -> Optional[int]:
    return None


clock = Clock()
"""Of this process."""
