"""The numbers of an array that are kept from one stop to the next, and how they differ.

RUNS IN the user's training process. At most ``WHOLE`` elements are copied, in float64.
"""

from __future__ import annotations

import math
import sys
from typing import Any, NamedTuple, Optional

from zentracer.observe.facts import Facts
from zentracer.observe.kinds import TORCH, array_kind
from zentracer.observe.moments import Moments
from zentracer.observe.numpy_moments import numpy_moments, numpy_sample
from zentracer.observe.quiet import quiet, torch_if_loaded
from zentracer.observe.sampling import BLOCK, BLOCKS, FEW, PIECE
from zentracer.observe.stats import may_wait
from zentracer.observe.torch_moments import torch_moments, torch_sample

WHOLE = BLOCK * BLOCKS
"""Up to so many elements, all are kept: 128 kB."""
PART = WHOLE // 4
"""Elements kept of a larger array, in blocks of neighbours (see ``sampling.py``)."""
_EXACT = 1e-6
"""Share of the sum of squares from which on its difference to the mean's has ten digits."""


class Sample(NamedTuple):
    """A copy of some elements."""

    numbers: Any
    """Flat float64 tensor or array; of complex elements, the real parts and then the others."""
    is_part: bool
    """Whether there are more elements than these."""
    is_complex: bool = False

    @property
    def moments(self) -> Moments:
        """Statistics of the sample; complex elements count by magnitude."""
        if array_kind(type(self.numbers)) == TORCH:
            with quiet():
                found = _torch_moments(self._reals())
        else:
            found = numpy_moments(self._reals(), limit=WHOLE, piece=PIECE, zeros=False)
        found.sampled = self.is_part
        return found

    def _reals(self) -> Any:
        if not self.is_complex:
            return self.numbers
        parts = self.numbers.reshape(2, -1)
        return (parts * parts).sum(0) ** 0.5


class Difference(NamedTuple):
    """How a sample differs from an earlier one of the same places."""

    moved: int
    """Elements that are not the same; NaN is the same as NaN."""
    of: int
    """Elements of the sample."""
    relative: Optional[float]
    """Norm of the change by the norm of what was there, over the elements that were and are
    finite; None if those were all zero, or there are none."""
    lost: int
    """Elements that were finite and are NaN or infinite now."""


def sample_of(facts: Facts, *, waits: bool = False) -> Optional[Sample]:
    """Copy some of the elements that ``facts`` describe; None if they cannot be read.

    Args:
        facts: Whose elements.
        waits: Whether to wait for the accelerator that holds them.
    """
    data = facts.data
    if data is None or not facts.size or not (facts.on_host or (waits and may_wait(facts))):
        return None
    limit = WHOLE if facts.size <= WHOLE else PART
    if array_kind(type(data)) == TORCH:
        with quiet():
            return _torch_sample(data, limit, torch_if_loaded())
    if data.dtype.kind == "c":
        real, is_part = numpy_sample(data.real, limit // 2)
        imaginary, _ = numpy_sample(data.imag, limit // 2)
        both = sys.modules["numpy"].concatenate([real, imaginary])
        return Sample(both, is_part, is_complex=True)
    return Sample(*numpy_sample(data, limit))  # a copy in any case


def difference(before: Sample, now: Sample) -> Difference:
    """Compare two samples of equal size."""
    if array_kind(type(now.numbers)) == TORCH:
        with quiet():
            return _difference(torch_if_loaded(), before.numbers, now.numbers)
    numpy = sys.modules["numpy"]
    with numpy.errstate(all="ignore"):
        return _difference(numpy, before.numbers, now.numbers)


def _torch_sample(data: Any, limit: int, torch: Any) -> Sample:
    if data.is_complex():
        data = data.resolve_conj()
        real, is_part = torch_sample(data.real, limit // 2)
        imaginary, _ = torch_sample(data.imag, limit // 2)
        return Sample(torch.cat([real, imaginary]).cpu(), is_part, is_complex=True)
    numbers, is_part = torch_sample(data, limit)
    if not data.is_cpu:
        numbers = numbers.cpu()
    elif data.dtype == torch.float64:
        numbers = numbers.clone()  # it may be the user's own memory
    return Sample(numbers, is_part)


def _torch_moments(numbers: Any) -> Moments:
    """Moments in three passes, where that is exact enough: this is done at each training step."""
    count = numbers.numel()
    if count > FEW:
        torch = torch_if_loaded()
        low, high = torch.aminmax(numbers)
        mean = numbers.sum().item() / count
        norm = torch.linalg.vector_norm(numbers).item()
        m2 = norm * norm - count * mean * mean
        if m2 > _EXACT * norm * norm:  # neither cancelled out, nor NaN
            return Moments(count=count, min=low.item(), max=high.item(), mean=mean, m2=m2)
    return torch_moments(numbers, limit=WHOLE, piece=PIECE, zeros=False)


def _difference(lib: Any, before: Any, now: Any) -> Difference:
    change = now - before
    size = _norm(change)
    if math.isfinite(size):
        return Difference(int((change != 0).sum()), len(now), _share(size, _norm(before)), 0)
    was, is_ = lib.isfinite(before), lib.isfinite(now)
    same = (now == before) | ((now != now) & (before != before))
    both = was & is_
    change, base = lib.where(both, change, 0.0), lib.where(both, before, 0.0)
    unit = max(float(abs(change).max()), float(abs(base).max())) or 1.0  # squares may overflow
    relative = _share(_norm(change / unit), _norm(base / unit))
    lost = int((was & ~is_).sum())
    return Difference(len(now) - int(same.sum()), len(now), relative, lost)


def _norm(numbers: Any) -> float:
    return math.sqrt(float((numbers * numbers).sum()))


def _share(size: float, base: float) -> Optional[float]:
    return size / base if base else None
