"""The history of one watched expression: a bounded ring of points.

RUNS IN the user's training process. Standard library only.
"""

from __future__ import annotations

import math
from typing import List, NamedTuple, Optional

from zentracer.observe.moments import Moments
from zentracer.watches.clock import Moment

MOST = 512
"""Points kept. When they are reached, every other one between stops goes, and from then on every
other step is read."""


class Point(NamedTuple):
    """A value at one moment."""

    when: Moment
    value: Optional[float]
    """The number itself, or the mean of the finite elements; None if that is no finite number."""
    low: Optional[float] = None
    high: Optional[float] = None
    std: Optional[float] = None
    norm: Optional[float] = None
    bad: int = 0
    """NaN and infinite elements."""
    sampled: bool = False


class History:
    """Points in the order of time."""

    def __init__(self) -> None:
        self.points: List[Point] = []
        self.every = 1
        """Steps from one point to the next, between stops."""
        self._steps = 0

    def at_stop(self, point: Point) -> None:
        """Add the value at a stop, in place of what was seen at the same stop before."""
        if self.points and self.points[-1].when.stop == point.when.stop:
            self.points[-1] = point
            return
        self._add(point)

    def is_step_due(self) -> bool:
        """Count one completed step; returns whether it is to be read."""
        self._steps += 1
        return self._steps % self.every == 0

    def at_step(self, point: Point) -> None:
        """Add the value at a step that is complete."""
        self._add(point)

    def _add(self, point: Point) -> None:
        if len(self.points) >= MOST:
            self._thin()
        self.points.append(point)

    def _thin(self) -> None:
        """Drop every other point but the ends: first those between stops, then all alike."""
        first, *inner, last = self.points
        between = [point for point in inner if point.when.stop is None]
        dropped = set(map(id, (between if len(between) > MOST // 2 else inner)[::2]))
        if between:
            self.every *= 2
        self.points = [first, *(point for point in inner if id(point) not in dropped), last]


def of_moments(when: Moment, moments: Moments) -> Point:
    """The point of an array."""
    if not moments.count:
        return Point(when, None, bad=moments.nan + moments.inf, sampled=moments.sampled)
    return Point(
        when,
        moments.mean,
        moments.min,
        moments.max,
        moments.std,
        moments.norm,
        moments.nan + moments.inf,
        moments.sampled,
    )


def of_number(when: Moment, number: float) -> Point:
    """The point of a number."""
    if math.isfinite(number):
        return Point(when, number, number, number)
    return Point(when, None, bad=1)
