"""A matrix of any size reduced to a picture: what every block holds on average, and its marks.

RUNS IN the user's training process, inside ``ops.quietly()``. A single NaN among millions of
elements keeps its mark: up to ``EXACT`` elements each one is looked at.
"""

from __future__ import annotations

import functools
import math
from itertools import groupby
from typing import Any, Iterator, List, Sequence, Tuple

from zentracer.observe.block_parts import Part, Special, joined, reduced
from zentracer.observe.blocks import Blocks, Region, groups, regions, taken
from zentracer.observe.ops import Ops

EXACT = 1 << 24
"""Elements looked at for one picture; of larger matrices, some of every block."""
NAN, PLUS_INF, MINUS_INF, ZEROS = 1, 2, 4, 8
"""Marks: what a block has (the first three), or is full of."""
HAS = NAN | PLUS_INF | MINUS_INF
FLOAT32_MAX = 3.4028234663852886e38

Place = Tuple[slice, slice]


class Picture:
    """A grid of means and marks, in memory of its own, row by row."""

    def __init__(self, ops: Ops, blocks: Blocks, channels: int = 1, limit: int = EXACT) -> None:
        self.blocks = blocks
        self.channels = channels
        self.sampled = False
        """Whether only some elements of each block were looked at."""
        size = blocks.height * blocks.width
        has_envelope = blocks.rows == 1 and channels == 1
        self.means = bytearray(4 * size * channels)
        """float32[height, width, channels]; NaN where nothing is finite."""
        self.marks = bytearray(size)
        """uint8[height, width]"""
        self.lows = bytearray(4 * size) if has_envelope else None
        """float32[width], for a single row: the smallest finite element."""
        self.highs = bytearray(4 * size) if has_envelope else None
        self._ops = ops
        elements = blocks.rows * blocks.columns * channels
        self._budget = elements if elements <= limit else max(1, limit // (size * channels))

    def draw(self, planes: Sequence[Any]) -> None:
        """Reduce matrices of one shape, one a channel."""
        for channel, matrix in enumerate(planes):
            blocks, canvas = self.blocks, self._canvas(channel)
            if _runs_down(self._ops.strides(matrix), blocks):
                # Memory is read in its own order; only the small result is transposed.
                matrix, blocks = self._ops.turned(matrix, (1, 0)), blocks.turned
                canvas = canvas.turned()
            for region in regions(blocks):
                for place, part, size in self._parts(matrix, blocks, region):
                    canvas.put(place, part, size)

    def _canvas(self, channel: int) -> _Canvas:
        shape = (self.blocks.height, self.blocks.width)
        buffer = self._ops.buffer
        means = buffer(self.means, "float32", (*shape, self.channels))[:, :, channel]
        marks = buffer(self.marks, "uint8", shape)
        bounds: List[Any] = []
        if self.lows is not None and self.highs is not None:
            bounds = [buffer(memory, "float32", shape) for memory in (self.lows, self.highs)]
        return _Canvas(self._ops, means, marks, bounds, adds=channel > 0)

    def _parts(
        self, matrix: Any, blocks: Blocks, region: Region
    ) -> Iterator[Tuple[Place, Part, int]]:
        """Where a piece of the picture belongs, what is there, and elements looked at a block."""
        ops = self._ops
        array = _blockwise(matrix, blocks, region)
        if region.tall * region.wide > self._budget:
            rows, columns = taken(region.tall, region.wide, self._budget)
            array = array[:, rows, :, columns]
            self.sampled = True
        size = array.shape[1] * array.shape[3]
        look = functools.partial(
            reduced,
            size=size,
            ops=ops,
            has_envelope=self.lows is not None,
            is_cut=size > ops.piece,
        )
        several = groups(tuple(array.shape), ops.piece)
        for (row, column, down, across), same in groupby(several, key=lambda group: group[:4]):
            found = (look(array[group.elements]) for group in same)
            top, left = region.row + row, region.column + column
            place = (slice(top, top + down), slice(left, left + across))
            yield place, functools.reduce(lambda one, two: joined(one, two, ops), found), size


class _Canvas:
    """Arrays over the memory of one channel of a picture."""

    def __init__(self, ops: Ops, means: Any, marks: Any, bounds: List[Any], *, adds: bool) -> None:
        self._ops = ops
        self._means = means
        self._marks = marks
        self._bounds = bounds
        self._adds = adds
        """Whether the marks of another channel are there already."""

    def turned(self) -> _Canvas:
        """The same memory, transposed."""
        means, marks, *bounds = (
            self._ops.turned(array, (1, 0)) for array in (self._means, self._marks, *self._bounds)
        )
        return _Canvas(self._ops, means, marks, bounds, adds=self._adds)

    def put(self, place: Place, part: Part, size: int) -> None:
        """Write what is known of the blocks at ``place``."""
        special = part.special
        if special is not None:
            marks = _marks(special, size, self._ops)
            self._marks[place] = _of_both(self._marks[place], marks) if self._adds else marks
        elif self._adds:
            self._marks[place] &= HAS
        means = part.share if special is None else part.share * (size / special.count)
        self._means[place] = _narrow(means)
        for array, bound in zip(self._bounds, (part.low, part.high)):
            narrow = _narrow(self._ops.wide(bound))
            if special is not None:
                nothing = self._ops.full(narrow, math.nan)
                narrow = self._ops.where(special.count > 0, narrow, nothing)
            array[place] = narrow


def _blockwise(matrix: Any, blocks: Blocks, region: Region) -> Any:
    """A view [down, tall, across, wide] of the region's elements."""
    top, left = region.row * blocks.row_step, region.column * blocks.column_step
    down, across, tall, wide = region.down, region.across, region.tall, region.wide
    part = matrix[top : top + down * tall, left : left + across * wide]
    return part.reshape((down, tall, across, wide))


def _runs_down(strides: Tuple[int, ...], blocks: Blocks) -> bool:
    return blocks.rows > 1 and blocks.columns > 1 and strides[0] < strides[1]


def _marks(part: Special, size: int, ops: Ops) -> Any:
    zeros = (part.count == size) & ~part.other
    return (
        ops.flags(part.nan) * NAN
        + ops.flags(part.up) * PLUS_INF
        + ops.flags(part.down) * MINUS_INF
        + ops.flags(zeros) * ZEROS
    )


def _of_both(before: Any, now: Any) -> Any:
    """A pixel has what one of its channels has, and is zero if all of them are."""
    return ((before | now) & HAS) | (before & now & ZEROS)


def _narrow(numbers: Any) -> Any:
    """Within what float32 can hold; NaN stays."""
    return numbers.clip(-FLOAT32_MAX, FLOAT32_MAX)
