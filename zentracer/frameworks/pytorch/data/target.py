"""What one data breakpoint watches: a source or a part of it, and what was in it last.

RUNS IN the training process, inside ``unseen()``.
"""

from __future__ import annotations

from typing import NamedTuple

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

    def tensor(self) -> Tensor | None:
        """Return what is watched, to be read and let go; None if there is nothing (any more)."""
        whole = self.source.tensor()
        if whole is None or self.part is None:
            return whole
        if not self.fits(whole):
            return None
        sizes, strides, offset = self.part
        return torch.as_strided(whole, sizes, strides, whole.storage_offset() + offset)

    def fits(self, whole: Tensor) -> bool:
        """Tell whether the part that is watched is a part of ``whole``."""
        if self.part is None:
            return True
        sizes, strides, offset = self.part
        last = offset + sum((size - 1) * stride for size, stride in zip(sizes, strides))
        there = 1 + sum((size - 1) * stride for size, stride in zip(whole.shape, whole.stride()))
        return whole.numel() > 0 and last < there

    def memory(self) -> Range | None:
        """Return the addresses that are watched."""
        x = self.tensor()
        return memory_of(x) if x is not None else None

    def forget(self) -> None:
        """Keep no content."""
        self._known, self.is_known = None, False

    def learn(self, limits: Limits) -> None:
        """Take what is there for known."""
        self._known, self.is_known = self._look(limits), True

    def check(self, limits: Limits) -> Change | None:
        """Return how the content has changed; what is there is known from now on."""
        before, after = self._known, self._look(limits)
        self._known = after
        if before is None or after is None:
            if before is after:
                return None
            there = before or after
            count = there.flat.numel() if there is not None else 0
            return Change(before, after, Difference(float("inf"), count, count, sampled=False))
        difference = before.difference(after)
        return Change(before, after, difference) if difference is not None else None

    def _look(self, limits: Limits) -> Content | None:
        x = self.tensor()
        return Content(x, sample=limits.sample, exact=limits.exact) if x is not None else None
