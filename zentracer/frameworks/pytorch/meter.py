"""What ZenTracer takes of the time of one step that is timed.

RUNS IN the training process.
"""

from __future__ import annotations

import time

clock = time.perf_counter
_ROUNDS, _READINGS = 5, 200
# In readings of the clock, so that they hold on any machine:
_IN_CALL, _BESIDE_CALL = 4, 12
"""What the timing of one torch call adds to the measured time of ours, and to the step besides."""
_IN_STRETCH, _BESIDE_STRETCH = 1, 3
"""The same for a stretch of our code with one reading before and one after."""
_NODE_HOOK = 20
"""What the autograd engine needs to call a hook in Python, which the hook itself cannot see:
0.9 microseconds where a reading takes 40 nanoseconds."""
_AFTER_LOOK, _AFTER_CALL, _AFTER_STRETCH = 100, 25, 250
"""What the program's own code takes longer for coming after ours, with the processor's caches full
of other things: after a torch call whose result was looked at (4 microseconds), after any other,
and after each stretch. Taken from the difference that arming makes to small models, where this is
a quarter of it; in larger ones it hardly shows (benchmarks/overhead.py)."""


class Meter:
    """The clock of one step."""

    def __init__(self) -> None:
        self.ours = 0.0
        """Seconds in our code, and in what torch does to call it."""
        self.repeated = 0.0
        """Seconds in a second call of the latter, made to time it."""
        self.calls = 0
        """Torch calls."""
        self.looks = 0
        """Those whose result was looked at."""
        self.stretches = 0
        self.node_hooks = 0
        self.usable = True
        """False once something happened whose time cannot be told from ours."""

    def add(self, seconds: float) -> None:
        """Count a stretch of our code."""
        self.ours += seconds
        self.stretches += 1

    def share(self, elapsed: float, reading: float) -> float:
        """Return which share of its time we take of a step that is not timed.

        Args:
            elapsed: seconds that the timed step took.
            reading: seconds to read the clock.
        """
        inside = self.calls * _IN_CALL + self.stretches * _IN_STRETCH
        beside = self.calls * _BESIDE_CALL + self.stretches * _BESIDE_STRETCH
        unseen = (
            self.node_hooks * _NODE_HOOK
            + self.looks * _AFTER_LOOK
            + (self.calls - self.looks) * _AFTER_CALL
            + self.stretches * _AFTER_STRETCH
        )
        ours = self.ours + (unseen - inside) * reading
        step = elapsed - self.repeated - (inside + beside) * reading
        return min(max(ours, 0.0) / step, 1.0) if step > 0 else 0.0


def seconds_to_read_the_clock() -> float:
    """Measure it."""
    best = float("inf")
    for _ in range(_ROUNDS):
        start = clock()
        for _ in range(_READINGS):
            clock()
        best = min(best, (clock() - start) / _READINGS)
    return best
