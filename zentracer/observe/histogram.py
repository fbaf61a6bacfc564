"""Histograms of tensors and arrays, from a bounded number of elements.

RUNS IN the user's training process.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Iterator, List, Optional, Tuple

from zentracer.observe.kinds import TORCH, array_kind
from zentracer.observe.numpy_moments import numpy_sample
from zentracer.observe.ops import Ops, ops_for
from zentracer.observe.sampling import PIECE, pieces, without_repeats
from zentracer.observe.torch_moments import torch_sample

BINS = 20


@dataclass
class Histogram:
    """Counts of finite elements in equal bins between ``low`` and ``high``."""

    low: float
    high: float
    counts: List[int]
    sampled: bool

    def edge(self, index: int) -> float:
        """Lower edge of bin ``index``; the upper edge of the last one for ``len(counts)``."""
        share = index / len(self.counts)
        return self.low * (1 - share) + self.high * share


def histogram(data: Any, *, bins: int = BINS, limit: int = PIECE) -> Optional[Histogram]:
    """Histogram of readable ``data`` (see ``Facts.data``); None without finite elements.

    Waits for the accelerator that holds the data.

    Args:
        data: A tensor or an array; complex elements count by magnitude.
        bins: Number of bins; there is only one if all elements are equal.
        limit: Elements to look at; of more, a sample is taken.
    """
    ops = ops_for(data)
    with ops.quietly():
        index, times = without_repeats(data.shape, _signed_strides(data))
        data = data[index] if times > 1 else data
        sampled = math.prod(data.shape) > limit
        if sampled:
            sample = torch_sample if array_kind(type(data)) == TORCH else numpy_sample
            data, _ = sample(data, limit)
        found = _counts(data, bins, ops)
    if found is None:
        return None
    low, high, counts = found
    return Histogram(low, high, [count * times for count in counts], sampled)


def _signed_strides(data: Any) -> Tuple[int, ...]:
    return tuple(data.stride()) if array_kind(type(data)) == TORCH else data.strides


def _counts(data: Any, bins: int, ops: Ops) -> Optional[Tuple[float, float, List[int]]]:
    bounds = [ops.bounds(numbers) for numbers in _finite_pieces(data, ops)]
    if not bounds:
        return None
    low, high = min(low for low, _ in bounds), max(high for _, high in bounds)
    if low == high:
        return low, high, [sum(math.prod(part.shape) for part in _finite_pieces(data, ops))]
    total = None
    for numbers in _finite_pieces(data, ops):
        counts = ops.counted(_places(numbers, low, high, bins), bins + 1)
        total = counts if total is None else total + counts
    *inner, last, at_the_end = [] if total is None else total.tolist()
    return low, high, [*inner, last + at_the_end]


def _finite_pieces(data: Any, ops: Ops) -> Iterator[Any]:
    """The finite elements, flat, piece by piece; pieces without any are left out."""
    order = sorted(range(len(data.shape)), key=lambda dim: -abs(_signed_strides(data)[dim]))
    ordered = ops.turned(data, order)
    for part in pieces(ordered, tuple(ordered.shape), ops.piece):
        numbers = ops.floats(part).reshape(-1)
        if not math.isfinite(float(numbers.sum())):
            numbers = ops.some(numbers, ops.finite(numbers))
        if len(numbers):
            yield numbers


def _places(numbers: Any, low: float, high: float, bins: int) -> Any:
    """Bin of each number, before rounding down."""
    if high - low < 1e37:  # else halves keep the difference from overflowing
        return (numbers - low) / (high - low) * bins
    return (numbers * 0.5 - low * 0.5) / (high * 0.5 - low * 0.5) * bins
