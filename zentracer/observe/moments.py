"""Running moments of a set of numbers: what a summary line needs, mergeable piece by piece.

RUNS IN the user's training process. Standard library only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Iterable, Optional, Sequence


@dataclass
class Moments:
    """Statistics over the finite elements, and counts of the others."""

    count: int = 0
    """Number of finite elements."""
    min: float = math.inf
    max: float = -math.inf
    mean: float = 0.0
    m2: float = 0.0
    """Sum of squared differences from the mean."""
    nan: int = 0
    inf: int = 0
    zeros: int = 0
    """Number of elements equal to zero; only counted on request."""
    sampled: bool = False
    """True when the elements are a sample of the tensor's."""

    @property
    def std(self) -> Optional[float]:
        """Sample standard deviation (divides by n - 1, as ``torch.std``)."""
        return math.sqrt(self.m2 / (self.count - 1)) if self.count > 1 else None

    @property
    def norm(self) -> float:
        """Euclidean norm: the sum of squares is ``m2 + n * mean ** 2``, without cancellation."""
        return math.sqrt(self.m2 + self.count * self.mean * self.mean)

    @property
    def absmax(self) -> float:
        """Largest magnitude."""
        return max(abs(self.min), abs(self.max))


def merge(pieces: Iterable[Moments]) -> Moments:
    """Combine the moments of disjoint pieces.

    Source: T. Chan, G. Golub, R. LeVeque, "Updating Formulae and a Pairwise Algorithm for
    Computing Sample Variances", 1979.
    """
    total = Moments()
    for piece in pieces:
        total.nan += piece.nan
        total.inf += piece.inf
        total.zeros += piece.zeros
        if not piece.count:
            continue
        count = total.count + piece.count
        delta = piece.mean - total.mean
        total.m2 += piece.m2 + delta * delta * total.count * piece.count / count
        total.mean += delta * piece.count / count
        total.count = count
        total.min = min(total.min, piece.min)
        total.max = max(total.max, piece.max)
    return total


def repeated(moments: Moments, times: int) -> Moments:
    """Moments of the same elements, each standing ``times`` times (an expanded tensor)."""
    if times == 1:
        return moments
    return Moments(
        count=moments.count * times,
        min=moments.min,
        max=moments.max,
        mean=moments.mean,
        m2=moments.m2 * times,
        nan=moments.nan * times,
        inf=moments.inf * times,
        zeros=moments.zeros * times,
        sampled=moments.sampled,
    )


def of_numbers(numbers: Sequence[float]) -> Moments:
    """Moments of a few Python numbers (cheaper than array operations below some hundred)."""
    total = sum(numbers)
    if not math.isfinite(total):
        return _of_wild_numbers(numbers)
    return _of_finite_numbers(numbers, total / len(numbers))


def _of_finite_numbers(numbers: Sequence[float], mean: float) -> Moments:
    count = len(numbers)
    spread = math.dist(numbers, [mean] * count)
    return Moments(
        count=count,
        min=min(numbers),
        max=max(numbers),
        mean=mean,
        m2=spread * spread,
        zeros=numbers.count(0),
    )


def _of_wild_numbers(numbers: Sequence[float]) -> Moments:
    """Some number is not finite, or their sum overflows."""
    finite = [number for number in numbers if math.isfinite(number)]
    mean = sum(number / len(finite) for number in finite)
    moments = _of_finite_numbers(finite, mean) if finite else Moments()
    moments.nan = sum(1 for number in numbers if number != number)
    moments.inf = len(numbers) - len(finite) - moments.nan
    return moments
