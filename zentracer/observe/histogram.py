"""Histograms of tensors and arrays, from a bounded number of elements.

RUNS IN the user's training process.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any, List, Optional

from zentracer.observe.kinds import TORCH, array_kind
from zentracer.observe.numpy_moments import numpy_sample
from zentracer.observe.quiet import quiet, torch_if_loaded
from zentracer.observe.sampling import PIECE
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


def histogram(data: Any, *, bins: int = BINS) -> Optional[Histogram]:
    """Histogram of readable ``data`` (see ``Facts.data``); None without finite elements.

    Waits for the accelerator that holds the data.
    """
    if array_kind(type(data)) == TORCH:
        with quiet():
            return _torch_histogram(data, bins)
    return _numpy_histogram(data, bins)


def _torch_histogram(data: Any, bins: int) -> Optional[Histogram]:
    torch = torch_if_loaded()
    numbers, sampled = torch_sample(data, PIECE)
    if not math.isfinite(numbers.sum().item()):
        numbers = numbers[torch.isfinite(numbers)]
    if not numbers.numel():
        return None
    low, high = (bound.item() for bound in torch.aminmax(numbers))
    if low == high:
        return Histogram(low, high, [numbers.numel()], sampled)
    places = _places(numbers, low, high, bins).to(torch.int64)
    counts = torch.bincount(places, minlength=bins + 1)
    return Histogram(low, high, _close(counts.tolist()), sampled)


def _numpy_histogram(data: Any, bins: int) -> Optional[Histogram]:
    numpy = sys.modules["numpy"]
    with numpy.errstate(all="ignore"):
        numbers, sampled = numpy_sample(data, PIECE)
        numbers = numbers[numpy.isfinite(numbers)]
        if not numbers.size:
            return None
        low, high = float(numbers.min()), float(numbers.max())
        if low == high:
            return Histogram(low, high, [numbers.size], sampled)
        places = _places(numbers, low, high, bins).astype(numpy.int64)
        counts = numpy.bincount(places, minlength=bins + 1)
    return Histogram(low, high, _close(counts.tolist()), sampled)


def _places(numbers: Any, low: float, high: float, bins: int) -> Any:
    """Bin of each number, before rounding down; halves keep the difference from overflowing."""
    return (numbers * 0.5 - low * 0.5) / (high * 0.5 - low * 0.5) * bins


def _close(counts: List[int]) -> List[int]:
    """Count the numbers at the upper end in the last bin."""
    return [*counts[:-2], counts[-2] + counts[-1]]
