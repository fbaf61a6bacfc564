"""When a loss leaves its own recent range.

RUNS IN the training process. Pure: values come in one by one, verdicts go out.

A loss is compared with the median of its last values, in units of how far it moves from one value
to the next (the median of that: outliers do not change it, as in Hampel's identifier, and a falling
loss does not widen it), on a logarithmic scale where all are positive. Noisy and negative losses
(policy gradients, log-likelihoods of densities) have a wide spread and so a wide range; those that
compete (GANs) have to leave it further.
"""

from __future__ import annotations

import math
import statistics
from collections import deque
from dataclasses import dataclass

WINDOW = 64
"""Values that make up the recent range."""
EARLY = 20
"""Values at the beginning that show what an untrained model gives; a history needs as many."""
RECENT = 16
"""Values whose median is what a loss is compared with."""
SPREADS = 12.0
"""Spreads (standard deviations, were it normal noise) that a value lies above that median: data
from another domain reached 10 in a healthy training, wrong labels and raised rates 15 to 50."""
_FACTOR = 3.0
"""Times the median."""
_ABOVE_ALL = 2.0
"""Times the largest of the recent values."""
_ABOVE_EARLY = 1.5
"""Times the largest of the first values: worse than untrained."""
_BELOW_EARLY_FACTOR = 10.0
_BELOW_EARLY = 0.2
"""A loss below the untrained model's spikes at 10 times its median and 0.2 times the first values;
harder data or a restarted schedule raise it by less."""
_ABOVE_PAST = 1.5
"""Times the largest of the outliers of the last 1000 values: a run may have its harder batches."""
_PAST = 1000
_RIVALS = 3.0
"""All factors are so much larger where several optimisers compete for the loss."""
_SIGNED_SPREADS = 20.0
_SIGNED_RANGE = 4.0
"""For losses around zero: times the distance between their smallest and largest value."""
_FLOOR = 0.05
"""Least spread on the logarithmic scale: 5 %."""

_BLOCK = 4
_BLOCKS = 8
"""A rise is one of the median of 4 values, 8 times in a row."""
_ABOVE_BEST = 4.0
"""Times the best such median."""
_RUNAWAY = 3
_RUNAWAY_STEP = 3.0
_RUNAWAY_WHOLE = 1000.0
"""Without history: three times in a row at least threefold, and 1000 times the first value."""


@dataclass(frozen=True)
class Verdict:
    """A loss outside its range."""

    kind: str
    """``spike``, ``rise`` (slowly, for long) or ``runaway`` (from the beginning)."""
    value: float
    reference: float
    """Median of the recent values, the best value, or the first one."""
    count: int
    """Values that the reference is taken from, or that rose in a row."""


class LossHistory:
    """The values of one loss."""

    def __init__(self) -> None:
        self._window: deque[float] = deque(maxlen=WINDOW)
        self._outliers: deque[tuple[int, float]] = deque(maxlen=64)
        """Number and value of those far above their neighbours."""
        self._count = 0
        self._early: list[float] = []
        self._blocks: deque[float] = deque(maxlen=_BLOCKS)
        self._block: list[float] = []
        self._best: float | None = None

    def take(self, value: float, *, rivals: int = 1) -> Verdict | None:
        """Take a value in; return what is wrong with it.

        Args:
            value: the loss.
            rivals: optimisers that are at work in the program.
        """
        if not math.isfinite(value):
            return None
        slack = _RIVALS if rivals > 1 else 1.0
        verdict = self._spike(value, slack)
        self._add(value)
        if verdict is None and rivals <= 1:
            verdict = self._rise(value) or self._runaway(value)
        return verdict

    def _add(self, value: float) -> None:
        self._count += 1
        self._window.append(value)
        if len(self._early) < EARLY:
            self._early.append(value)
        self._block.append(value)
        if len(self._block) == _BLOCK:
            median = statistics.median(self._block)
            self._block.clear()
            self._blocks.append(median)
            if self._best is None or median < self._best:
                self._best = median

    def _spike(self, value: float, slack: float) -> Verdict | None:
        if len(self._window) < EARLY:
            return None
        median = statistics.median(list(self._window)[-RECENT:])
        if value <= median:
            return None
        is_positive = min(self._window) > 0 and min(self._early) > 0
        far = self._is_far if is_positive else self._is_far_signed
        if not far(value, median, slack):
            return None
        return Verdict("spike", value, median, min(len(self._window), RECENT))

    def _is_far(self, value: float, median: float, slack: float) -> bool:
        if value < slack * _FACTOR * median:
            return False
        past = [old for number, old in self._outliers if self._count - number < _PAST]
        self._outliers.append((self._count, value))
        if value < _ABOVE_PAST * max(past, default=0.0):
            return False
        if value < slack * _ABOVE_ALL * max(self._window):
            return False
        early = max(self._early)
        untrained = value > slack * _ABOVE_EARLY * early
        drop = value > slack * max(_BELOW_EARLY_FACTOR * median, _BELOW_EARLY * early)
        if not untrained and not drop:
            return False
        logs = [math.log(old) for old in self._window]
        spread = max(_noise(logs), _FLOOR)
        return math.log(value) - math.log(median) > SPREADS * spread

    def _is_far_signed(self, value: float, median: float, slack: float) -> bool:
        above = value - median
        widest = max(_range(self._window), _range(self._early))
        return above > slack * max(
            _SIGNED_SPREADS * _deviation(self._window), _SIGNED_RANGE * widest, 1e-6
        )

    def _rise(self, value: float) -> Verdict | None:
        blocks = list(self._blocks)
        if self._block or len(blocks) < _BLOCKS or self._best is None or self._best <= 0:
            return None
        rises = all(after > before for before, after in zip(blocks, blocks[1:]))
        early = statistics.median(self._early)
        if rises and blocks[-1] > max(_ABOVE_BEST * self._best, _ABOVE_EARLY * early):
            return Verdict("rise", value, self._best, _BLOCK * _BLOCKS)
        return None

    def _runaway(self, value: float) -> Verdict | None:
        last = list(self._window)[-_RUNAWAY - 1 :]
        if len(self._window) > EARLY or len(last) <= _RUNAWAY or min(self._window) <= 0:
            return None
        runs = all(after > _RUNAWAY_STEP * before for before, after in zip(last, last[1:]))
        if runs and value > _RUNAWAY_WHOLE * self._early[0]:
            return Verdict("runaway", value, self._early[0], _RUNAWAY)
        return None


def _deviation(values: deque[float] | list[float]) -> float:
    median = statistics.median(values)
    return 1.4826 * statistics.median(abs(value - median) for value in values)


def _noise(values: list[float]) -> float:
    """Return the deviation of ``values`` around their trend, from the steps between them."""
    steps = [abs(after - before) for before, after in zip(values, values[1:])]
    return 1.4826 * statistics.median(steps) / math.sqrt(2)


def _range(values: deque[float] | list[float]) -> float:
    return max(values) - min(values)
