"""What one data breakpoint watches: a source or a part of it, and what was in it last.

RUNS IN the training process, inside ``unseen()``.
"""

from __future__ import annotations

from typing import NamedTuple, Sequence

import torch
from torch import Tensor

from zentracer.frameworks.pytorch.data.content import Content, Difference
from zentracer.frameworks.pytorch.data.ranges import Range
from zentracer.frameworks.pytorch.data.source import Source, memory_of

Part = tuple[tuple[int, ...], tuple[int, ...], int]
"""Sizes, strides and offset, the latter from the first element of the whole."""


class Limits(NamedTuple):
    """How much of one tensor is kept, and how much is read."""

    sample: int
    exact: int


class Change(NamedTuple):
    """A target whose content is another one now."""

    before: Content | None
    """None where nothing was there."""
    after: Content | None
    difference: Difference


class Target:
    """Has an identity of its own: one data breakpoint of the editor's."""

    def __init__(self, data_id: str, source: Source, part: Part | None, label: str) -> None:
        self.data_id = data_id
        self.source = source
        self.part = part
        """None for the whole."""
        self.label = label
        """How the user calls it."""
        self._known: Content | None = None
        self.is_known = False
        self._last = 0 if part is None else _last(part[0], part[1]) + part[2]

    @property
    def is_sampled(self) -> bool:
        """Whether only a sample of its elements is kept."""
        return self._known is not None and not self._known.whole

    def tensor(self) -> Tensor | None:
        """Return what is watched, to be read and let go; None if there is nothing (any more)."""
        return self._in(self.source.tensor())

    def memory(self, whole: Tensor | None) -> Range | None:
        """Return the addresses that are watched of what the source holds."""
        x = self._in(whole)
        return memory_of(x) if x is not None else None

    def forget(self) -> None:
        """Keep no content."""
        self._known, self.is_known = None, False

    def learn(self, limits: Limits) -> None:
        """Take what is there for known."""
        self._known, self.is_known = self._look(self.source.tensor(), limits), True

    def glance(self, whole: Tensor | None, limits: Limits) -> Change | None:
        """Do as ``check`` if the sample differs; else nothing is said, and nothing is learnt."""
        x, known = self._in(whole), self._known
        if x is not None and known is not None and known.is_sample_of(x, limits.sample):
            return None
        return self.check(whole, limits)

    def check(self, whole: Tensor | None, limits: Limits) -> Change | None:
        """Return how the content has changed; what is there is known from now on.

        Args:
            whole: what the source holds now.
            limits: how much to keep and to read.
        """
        before, after = self._known, self._look(whole, limits)
        self._known = after
        if before is None or after is None:
            if before is after:
                return None
            there = before or after
            count = there.kept if there is not None else 0
            return Change(before, after, Difference(float("inf"), count, count, sampled=False))
        difference = before.difference(after)
        return Change(before, after, difference) if difference is not None else None

    def _look(self, whole: Tensor | None, limits: Limits) -> Content | None:
        x = self._in(whole)
        return Content(x, sample=limits.sample, exact=limits.exact) if x is not None else None

    def _in(self, whole: Tensor | None) -> Tensor | None:
        if whole is None or self.part is None:
            return whole
        there = whole.numel() - 1
        if there >= 0 and not whole.is_contiguous():
            there = _last(whole.shape, whole.stride())
        if self._last > there:
            return None  # it has another shape now
        sizes, strides, offset = self.part
        return torch.as_strided(whole, sizes, strides, whole.storage_offset() + offset)


def part_of(whole: Tensor, part: Tensor) -> Part | None:
    """Return which part of ``whole`` a view of it is; None for all of it."""
    offset = int(part.storage_offset() - whole.storage_offset())
    if part.shape == whole.shape and part.stride() == whole.stride() and not offset:
        return None
    return tuple(part.shape), part.stride(), offset


def _last(sizes: Sequence[int], strides: Sequence[int]) -> int:
    """Return the offset of the last element."""
    return sum([(size - 1) * stride for size, stride in zip(sizes, strides)])
