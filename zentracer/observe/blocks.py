"""How a matrix is cut into blocks, each of which becomes one element of a picture.

RUNS IN the user's training process. Standard library only; arrays are only handed on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator, List, NamedTuple, Sequence, Tuple


@dataclass(frozen=True)
class Blocks:
    """A grid of blocks over a matrix; those at the right and lower edge may be smaller."""

    rows: int
    columns: int
    row_step: int
    """Rows of a block."""
    column_step: int

    @property
    def height(self) -> int:
        """Number of blocks from top to bottom."""
        return -(-self.rows // self.row_step)

    @property
    def width(self) -> int:
        """Number of blocks from left to right."""
        return -(-self.columns // self.column_step)

    @property
    def turned(self) -> Blocks:
        """The grid of the transposed matrix."""
        return Blocks(self.columns, self.rows, self.column_step, self.row_step)


class Region(NamedTuple):
    """A part of the grid where all blocks have the same size."""

    row: int
    """First block, counted in blocks."""
    column: int
    down: int
    """Number of blocks."""
    across: int
    tall: int
    """Rows of each block."""
    wide: int


class Group(NamedTuple):
    """Blocks that one array operation reduces, or a part of one block."""

    row: int
    column: int
    down: int
    across: int
    elements: Tuple[slice, ...]
    """Where their elements are in the region's array [down, tall, across, wide]."""


def blocks_of(rows: int, columns: int, height: int, width: int) -> Blocks:
    """The finest grid over ``rows`` x ``columns`` with at most ``height`` x ``width`` blocks."""
    return Blocks(rows, columns, max(1, -(-rows // height)), max(1, -(-columns // width)))


def regions(blocks: Blocks) -> List[Region]:
    """Cut the grid into regions of equal blocks: the inside, and what is left at two edges."""
    return [
        Region(row, column, down, across, tall, wide)
        for row, down, tall in _runs(blocks.rows, blocks.row_step)
        for column, across, wide in _runs(blocks.columns, blocks.column_step)
    ]


def taken(tall: int, wide: int, budget: int) -> Tuple[slice, slice]:
    """Rows and columns of each block to look at, so that it is at most ``budget`` elements.

    Neighbours in a row share cache lines, so whole rows are kept for as long as possible.
    """
    width = min(wide, max(1, budget))
    height = min(tall, max(1, budget // width))
    left = (wide - width) // 2
    step = tall // height
    return slice((step - 1) // 2, step * height, step), slice(left, left + width)


def groups(shape: Sequence[int], piece: int) -> Iterator[Group]:
    """Cut a region's array [down, tall, across, wide] into pieces of at most ``piece`` elements.

    Whole blocks go together for as long as they fit; a block that does not is cut itself.
    """
    down, tall, across, wide = shape
    fitting = piece // (tall * wide)
    if not fitting:
        yield from _cut_blocks(shape, piece)
        return
    bands = max(1, fitting // across)
    several = -(-across // -(-across // fitting))  # about equal, rather than a few left over
    for row in range(0, down, bands):
        for column in range(0, across, several):
            rows = slice(row, min(row + bands, down))
            columns = slice(column, min(column + several, across))
            index = (rows, slice(None), columns, slice(None))
            yield Group(row, column, rows.stop - row, columns.stop - column, index)


def _cut_blocks(shape: Sequence[int], piece: int) -> Iterator[Group]:
    down, tall, across, wide = shape
    width = min(wide, piece)
    height = max(1, piece // width)
    for row in range(down):
        for column in range(across):
            for top in range(0, tall, height):
                for left in range(0, wide, width):
                    index = (
                        slice(row, row + 1),
                        slice(top, top + height),
                        slice(column, column + 1),
                        slice(left, left + width),
                    )
                    yield Group(row, column, 1, 1, index)


def _runs(length: int, step: int) -> Iterator[Tuple[int, int, int]]:
    """First block, number of blocks and their size, for the whole blocks and for the rest."""
    whole, rest = divmod(length, step)
    if whole:
        yield 0, whole, step
    if rest:
        yield whole, 1, rest
