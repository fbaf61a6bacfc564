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
_WHOLE_NUMBERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
"""By the bytes of an element: types whose values are its bits."""
_FEW = 16


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
        self._sums: tuple[Any, ...] | None = None
        self._few: list[Any] | None = None
        self._flat: Tensor | None = None
        self.whole = True
        """Whether all elements were kept."""
        self.kept = x.numel()
        """How many of them were."""
        if self.kept <= _FEW and x.is_cpu:  # thousands of elements may be watched one by one
            self._few = x.reshape(-1).tolist()
        else:
            self._take(x, sample, exact)

    def _take(self, x: Tensor, sample: int, exact: int) -> None:
        x, picked = _picked(x, sample)
        self.whole = picked is x
        flat = picked.reshape(-1)
        self._flat = flat.clone() if flat.is_cpu else flat.cpu()
        self.kept = flat.numel()
        if not self.whole and x.numel() <= exact:
            self._sums = _sums(x)

    @property
    def flat(self) -> Tensor:
        """The elements that were kept."""
        return torch.tensor(self._few, dtype=self.dtype) if self._flat is None else self._flat

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

    def is_sample_of(self, x: Tensor, sample: int) -> bool:
        """Tell whether ``x`` still has what was kept; cheap, the rest of a large one is not read.

        Args:
            x: what is there now.
            sample: elements to compare.
        """
        return self._is_same(x, sample) or (
            self.difference(Content(x, sample=sample, exact=0)) is None
        )

    def _is_same(self, x: Tensor, sample: int) -> bool:
        """Tell whether the bits of a sample are the same, where that takes no copy."""
        whole = _WHOLE_NUMBERS.get(x.element_size())
        if self._flat is None or whole is None or not x.is_cpu or tuple(x.shape) != self.shape:
            return False
        _, now = _picked(x, sample)
        if now.dtype is not self.dtype or now.numel() != self.kept or x.is_conj() or x.is_neg():
            return False
        try:
            return torch.equal(self._flat.view(whole).reshape(now.shape), now.view(whole))
        except RuntimeError:  # laid out so that its bits cannot be read in place
            return False

    def difference(self, new: Content) -> Difference | None:
        """Return how ``new`` differs; None if it does not."""
        if (self.shape, self.dtype) != (new.shape, new.dtype):
            return Difference(math.inf, new.kept, new.kept, not new.whole)
        if self._few is not None and new._few is not None:
            return _difference_of_few(self._few, new._few)
        old, now = self.flat, new.flat
        if old.numel() != now.numel():
            return None  # another sampling: nothing can be said
        sampled = not (self.whole and new.whole)
        if torch.equal(_bits(old), _bits(now)):
            elsewhere = self._sums is not None and new._sums not in (None, self._sums)
            return Difference(0.0, 0, self.kept, sampled) if elsewhere else None
        differs = (old != now) & ~(_is_nan(old) & _is_nan(now))
        count = int(torch.count_nonzero(differs))
        if not count:  # -0.0 for 0.0, another NaN
            return None
        return Difference(_ratio(old, now), count, self.kept, sampled)


def _picked(x: Tensor, sample: int) -> tuple[Tensor, Tensor]:
    """Return ``x`` without repetitions, and what is kept of it: itself, or blocks of it."""
    index, _ = without_repeats(x.shape, x.stride())
    x = x[index]
    return x, (x if x.numel() <= sample else _sampled(x, sample))


def _difference_of_few(old: list[Any], new: list[Any]) -> Difference | None:
    if old == new:
        return None
    differing = [(a, b) for a, b in zip(old, new) if a != b and (a == a or b == b)]
    if not differing:
        return None
    norm = math.sqrt(sum([abs(a) ** 2 for a in old if _is_finite(a)]))
    step = math.sqrt(sum([abs(b - a) ** 2 for a, b in differing]))
    changed = step / norm if norm and _is_finite(step) else math.inf
    return Difference(changed, len(differing), len(old), sampled=False)


def _is_finite(number: Any) -> bool:
    return number - number == 0


def _bits(flat: Tensor) -> Tensor:
    return flat.view(torch.uint8)


def _is_nan(flat: Tensor) -> Tensor:
    return flat != flat


def _ratio(old: Tensor, new: Tensor) -> float:
    """Return the norm of the difference over that of ``old``, infinite where there is none."""
    if old.dtype in (torch.float32, torch.float64):
        before, step = _norm(old), _norm(new - old)
        if math.isfinite(before) and math.isfinite(step):
            return step / before if before else math.inf
    return _ratio_of_finite(old, new)


def _norm(x: Tensor) -> float:
    return float(torch.linalg.vector_norm(x, dtype=torch.float64))


def _ratio_of_finite(old: Tensor, new: Tensor) -> float:
    """Do as ``_ratio`` for any type, over the elements that are finite in both."""
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
