"""When updates are larger than the weights they change.

RUNS IN the training process. Sizes are those of a sample of each parameter's elements.

One after another is divergence, and so is a single one after which the loss is many times what it
was: Adam's first update has the size of the learning rate whatever the gradient is.
"""

from __future__ import annotations

import math
import weakref
from dataclasses import dataclass, field
from typing import Any, Hashable, Sequence

from zentracer.frameworks.pytorch.training.builder import rate_of
from zentracer.frameworks.pytorch.training.ratios import SAMPLED, Change

LARGE = 1.0
"""Update norm over weight norm. A healthy one is about 1e-3 (A. Karpathy, CS231n; ZenTracer's
``stalled`` looks at the other end); above 1 an update replaces what was learnt."""
STEPS = 3
"""Updates in a row above that, meanwhile the weights grow."""
_GROWTH = 4.0
"""Times their norm that the weights must have grown by then: oscillation around zero is none."""
_FAST = 10.0
_FAST_PRODUCT = 50.0
"""Two in a row are enough if the second is 10 and both together 50 times the weights."""
_AT_ONCE = 1e4
_FIRST = 50
"""Updates of an optimiser that are all measured; later one in four is, unless they are large."""
_ROUND = 4
_QUIET_ROUND = 16
"""One in so many is while updates are small and gradients do not grow."""
_QUIET = 0.01
"""Update norm over weight norm that counts as small."""
_GROWN = 2.0
"""Times the norm of all gradients at the last measurement. An update with a learning rate grown so
much is measured at once."""
_WATCHFUL = 0.1
"""Update norm over weight norm from which on the following ones are measured too."""
_GIANT = 3.0
"""Times the weights, for more than half of the parameters: nothing is left of what they were."""
_LOSS_RISE = 10.0
"""Times the largest loss before such an update that a loss after it is."""
_LOSSES = 3
"""Updates after it whose losses are its doing."""
_TINY = 1e-4
"""Root mean square of weights that begin all but at zero: their first updates are large."""


@dataclass
class Streak:
    """Large updates of one optimiser in a row."""

    updates: int = 0
    """That this optimiser has begun."""
    last: float = 0.0
    """Update norm over weight norm when it was measured last."""
    ratios: list[float] = field(default_factory=list)
    start: float = 0.0
    """Norm of all weights before the first."""
    giant: Giant | None = None
    rate: float = 0.0
    gradients: float = 0.0
    """Learning rate and norm of all gradients when an update was measured last."""


@dataclass
class Giant:
    """An update of which nothing is known yet but that it was very large."""

    ratio: float
    changes: Sequence[Change]
    updates: int = 0
    """Updates since."""
    losses: tuple[float, float] | None = None
    """The largest before it, and one after it that is far above."""


@dataclass(frozen=True)
class Whole:
    """One update of all parameters together."""

    moved: float
    before: float
    root_mean_square: float
    """Of the weights before."""

    @property
    def ratio(self) -> float:
        """Update norm over weight norm."""
        return self.moved / self.before if self.before else 0.0


class Divergence:
    """The last updates of every optimiser."""

    def __init__(self) -> None:
        self._streaks: weakref.WeakKeyDictionary[Any, Streak] = weakref.WeakKeyDictionary()
        self._losses: dict[Hashable, float] = {}
        """The largest so far, by the place that calls backward."""
        self.wants_losses = True
        """Whether the training is at its beginning, and one optimiser has the loss to itself."""

    def forget(self) -> None:
        """Know nothing any more."""
        self._streaks.clear()
        self._losses.clear()
        self.wants_losses = True

    def loss(self, site: Hashable, value: float) -> None:
        """Take a loss in."""
        giant = next((s.giant for s in self._streaks.values() if s.giant is not None), None)
        before = self._losses.get(site)
        if giant is None:
            self._losses[site] = max(value, before if before is not None else value)
        elif before is not None and before > 0 and value > _LOSS_RISE * before:
            giant.losses = giant.losses or (before, value)

    def giant(self, optimizer: Any, changes: Sequence[Change]) -> Giant | None:
        """Take an update in; return one before it if the loss has risen far since."""
        streak = self._streaks.setdefault(optimizer, Streak())
        giant = streak.giant
        if giant is None:
            if _is_giant(changes):
                streak.giant = Giant(whole_of(changes).ratio, changes)
            return None
        giant.updates += 1
        if giant.losses is not None or giant.updates >= _LOSSES:
            streak.giant = None
        return giant if giant.losses is not None else None

    def measures(self, optimizer: Any, gradients: float) -> bool:
        """Tell whether the update that is about to be made should be measured.

        Args:
            optimizer: whose update it is.
            gradients: norm of all gradients of the last pass.
        """
        streak = self._streaks.setdefault(optimizer, Streak())
        streak.updates += 1
        if self.wants_losses:
            self.wants_losses = len(self._streaks) < 2 and streak.updates < _FIRST
        rate = rate_of(optimizer) or 0.0
        is_due = streak.updates <= _FIRST or streak.last > _WATCHFUL
        if not is_due and rate <= _GROWN * streak.rate:
            is_quiet = streak.last < _QUIET and gradients <= _GROWN * streak.gradients
            if streak.updates % (_QUIET_ROUND if is_quiet else _ROUND):
                return False
        streak.rate, streak.gradients = rate, gradients
        return True

    def diverges(self, optimizer: Any, changes: Sequence[Change]) -> Streak | None:
        """Take an update in; return those in a row, if they are too large to be healthy."""
        whole = whole_of(changes)
        streak = self._streaks.setdefault(optimizer, Streak())
        streak.last = whole.ratio
        if not math.isfinite(whole.ratio) or whole.ratio <= LARGE:
            streak.ratios.clear()
            return None
        if not streak.ratios:
            streak.start = whole.before
        streak.ratios.append(whole.ratio)
        del streak.ratios[:-64]
        return streak if _is_divergence(streak, whole) else None


def whole_of(changes: Sequence[Change]) -> Whole:
    """Return the size of an update over all parameters, each weighted by its elements."""
    moved = before = elements = 0.0
    for change in changes:
        parameter = change.parameter()
        if parameter is None or not math.isfinite(change.update + change.norm):
            continue
        weight = max(1.0, parameter.numel() / SAMPLED)
        moved += weight * change.update**2
        before += weight * change.norm**2
        elements += parameter.numel()
    return Whole(
        math.sqrt(moved), math.sqrt(before), math.sqrt(before / elements) if elements else 0.0
    )


def _is_giant(changes: Sequence[Change]) -> bool:
    ratios = [change.ratio for change in changes if change.ratio is not None]
    large = sum(ratio >= _GIANT for ratio in ratios)
    return large > len(ratios) / 2 and whole_of(changes).root_mean_square > _TINY


def _is_divergence(streak: Streak, whole: Whole) -> bool:
    ratio = whole.ratio
    if ratio > _AT_ONCE and whole.root_mean_square > _TINY:
        return True
    product = math.prod(streak.ratios[-2:])
    if len(streak.ratios) > 1 and ratio > _FAST and product > _FAST_PRODUCT:
        return True
    grown = whole.moved > _GROWTH * streak.start  # (an update above twice the weights adds to them)
    return len(streak.ratios) >= STEPS and grown
