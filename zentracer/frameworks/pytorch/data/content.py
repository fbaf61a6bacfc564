"""What a watched tensor held, in bounded memory, and how what it holds now differs.

RUNS IN the training process, inside ``unseen()``. Up to ``SAMPLE`` elements are copied; of a larger
tensor a sample is, and sums of all its bytes tell whether any element has changed. Beyond ``EXACT``
elements only the sample is compared, unless the user asked for ``precise``.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from zentracer.observe.sampling import (
    BLOCK,
    BLOCKS,
    PIECE,
    block_step,
    thinned,
    without_repeats,
)
from zentracer.observe.stats import exact_stats
from zentracer.wire.messages import Stats

SAMPLE = PIECE
"""Elements that are kept of one tensor: 128 KB of float32."""
EXACT = 1 << 22
"""Elements of which any that changes is found; reading them takes one to two milliseconds."""
KEPT = 1 << 24
"""Elements that are kept of all watched tensors together."""
_COLUMNS = 256


class Difference(NamedTuple):
    """How two contents differ."""

    changed: float
    """Norm of the difference over the norm of what was there; infinite from zero or by a NaN."""
    differing: int
    """Elements that differ among those compared."""
    compared: int
    sampled: bool
    """Whether only some of the elements were compared one by one."""


class Content:
    """What a tensor held at one moment."""

    def __init__(self, x: Tensor, *, sample: int, exact: int) -> None:
        self.shape, self.dtype = tuple(x.shape), x.dtype
        self._about = (str(x.dtype).rpartition(".")[2], str(x.device), x.element_size())
        index, _ = without_repeats(x.shape, x.stride())
        x = x[index]
        self.whole = x.numel() <= sample
        """Whether all elements were kept."""
        self.flat = (x if self.whole else _sampled(x, sample)).reshape(-1)
        self.flat = self.flat.cpu() if not self.flat.is_cpu else self.flat.clone()
        self._sums = _sums(x) if not self.whole and x.numel() <= exact else None

    @property
    def is_exact(self) -> bool:
        """Whether no change of any element can stay unseen."""
        return self.whole or self._sums is not None

    def tensor(self) -> Tensor:
        """Return a copy of what was kept, in its shape if it is all."""
        size = math.prod(self.shape)
        is_all = self.whole and self.flat.numel() == size
        return (self.flat.reshape(self.shape) if is_all else self.flat).clone()

    def stats(self) -> Stats:
        """Return the statistics of what was there, from the sample where it is one."""
        dtype, device, item = self._about
        size = math.prod(self.shape)
        return dataclasses.replace(
            exact_stats(self.flat), shape=self.shape, dtype=dtype, device=device, size=size,
            bytes=size * item, sampled=not self.whole,
        )  # fmt: skip

    def difference(self, new: Content) -> Difference | None:
        """Return how ``new`` differs; None if it does not."""
        if (self.shape, self.dtype) != (new.shape, new.dtype):
            return Difference(math.inf, new.flat.numel(), new.flat.numel(), not new.whole)
        if self.flat.numel() != new.flat.numel():
            return None  # another sampling: nothing can be said
        sampled = not (self.whole and new.whole)
        if torch.equal(_bits(self.flat), _bits(new.flat)):
            elsewhere = self._sums is not None and new._sums not in (None, self._sums)
            return Difference(0.0, 0, self.flat.numel(), sampled) if elsewhere else None
        differs = (self.flat != new.flat) & ~(_is_nan(self.flat) & _is_nan(new.flat))
        count = int(torch.count_nonzero(differs))
        if not count:  # -0.0 for 0.0, another NaN
            return None
        return Difference(_ratio(self.flat, new.flat), count, self.flat.numel(), sampled)


def _bits(flat: Tensor) -> Tensor:
    return flat.view(torch.uint8)


def _is_nan(flat: Tensor) -> Tensor:
    return flat != flat


def _ratio(old: Tensor, new: Tensor) -> float:
    wide = torch.complex128 if old.dtype.is_complex else torch.float64
    old, new = old.to(wide), new.to(wide)
    finite = torch.isfinite(old) & torch.isfinite(new)
    if not bool(finite.all()):
        same = (old == new) | (_is_nan(old) & _is_nan(new))
        if not bool((same | finite).all()):
            return math.inf
        old, new = old[finite], new[finite]
    before = float(torch.linalg.vector_norm(old))
    step = float(torch.linalg.vector_norm(new - old))
    return step / before if before else math.inf


def _sampled(x: Tensor, limit: int) -> Tensor:
    """Blocks of neighbours over the whole tensor, always the same ones."""
    blocks = min(BLOCKS, max(limit // BLOCK, 2))
    if x.is_contiguous() and x.numel() > 2 * blocks * BLOCK:
        step = block_step(x.numel(), blocks)
        return x.as_strided((blocks, BLOCK), (step, 1), x.storage_offset())
    return thinned(x, x.shape, limit)


def _sums(x: Tensor) -> tuple[Any, ...]:
    """Sums of all bytes, by rows and by columns: a changed element changes them, and so does
    one that has moved.
    """
    flat = (x if x.is_contiguous() else x.contiguous()).reshape(-1)
    if flat.data_ptr() % 8 or (flat.storage_offset() * flat.element_size()) % 8:
        flat = flat.clone()
    raw = flat.view(torch.uint8)
    words = raw[: raw.numel() // 8 * 8].view(torch.int64)
    table = words[: words.numel() // _COLUMNS * _COLUMNS].view(-1, _COLUMNS)
    rows, columns = table.sum(1), table.sum(0)
    numbers = torch.stack((rows.sum(), _weighted(rows), _weighted(columns)))
    return (*numbers.tolist(), tuple(raw[table.numel() * 8 :].tolist()))


def _weighted(sums: Tensor) -> Tensor:
    return (sums * torch.arange(1, sums.numel() + 1, device=sums.device)).sum()
