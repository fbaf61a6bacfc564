"""How much of a step's time ZenTracer takes, measured now and then.

RUNS IN the training process. One step in a while is timed: for that one, the watcher and the hooks
of backward are exchanged for variants that read a clock (timed.py). All other steps run as if
nothing of this existed.
"""

from __future__ import annotations

import statistics
from collections import deque
from typing import TYPE_CHECKING

from zentracer.control.stop import stops_so_far
from zentracer.frameworks.pytorch import timed
from zentracer.frameworks.pytorch.meter import Meter, clock, seconds_to_read_the_clock

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.mode import Watcher
    from zentracer.frameworks.pytorch.watch import Watch

_KEPT = 5
_TOLD = 3
"""Steps that must have been timed before anything is said: one alone may have been interrupted."""
_SOONER = 0.1
"""Share of the usual pause before the steps that are timed until then."""
_FIRST = 2
"""Steps before the first that is timed: in those, plans are made and caches filled."""


class Overhead:
    """Times a step in a while; ``boundary`` is called where one ends and the next one begins."""

    seconds_between = 2.0
    steps_between = 5

    def __init__(self, watch: Watch) -> None:
        self.share: float | None = None
        """None until measured, and on accelerators: they do not tell without waiting."""
        self._watch = watch
        self._shares: deque[float] = deque(maxlen=_KEPT)
        self._wait_steps = _FIRST
        self._wait_until = 0.0
        self._watcher: Watcher | None = None
        self._reading = 0.0
        self._stops = 0
        self._started = 0.0

    def boundary(self) -> None:
        """End the step that was timed, or begin to time the next one if it is its turn."""
        now, meter = clock(), self._watch.meter
        if meter is not None:
            self._end(meter, now)
        self._wait_steps -= 1
        if self._wait_steps <= 0 and now >= self._wait_until:
            self._begin()

    def forget(self) -> None:
        """Give up the step that is being timed. May be called on any thread, at any moment."""
        self._watch.meter = None
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            timed.end(watcher)

    def _begin(self) -> None:
        watcher: Watcher | None = getattr(self._watch.local, "watcher", None)
        if watcher is None:
            return
        self._reading = self._reading or seconds_to_read_the_clock()
        self._stops = stops_so_far()
        self._watch.meter = meter = Meter()
        timed.begin(watcher, meter)
        self._watcher = watcher
        if not self._watch.sees_calls:  # disarmed meanwhile
            self.forget()
        self._started = clock()

    def _end(self, meter: Meter, now: float) -> None:
        first = self._wait_until == 0.0
        self.forget()
        if first:  # the code that times has run for the first time
            self._wait_until = self._started
            return
        if meter.usable and stops_so_far() == self._stops:
            self._shares.append(meter.share(now - self._started, self._reading))
        is_known = len(self._shares) >= _TOLD
        pause = self.seconds_between if is_known else _SOONER * self.seconds_between
        self._wait_steps, self._wait_until = self.steps_between, now + pause
        if is_known:
            self.share = statistics.median(self._shares)
