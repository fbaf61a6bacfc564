"""The four views of an array's elements: statistics, histogram, picture and page.

RUNS IN the user's training process, inside ``quiet()``. Each returns fields of a ``TensorView``
and may raise whatever the array's framework raises.
"""

from __future__ import annotations

import base64
import sys
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from zentracer.observe.blocks import blocks_of
from zentracer.observe.cells import cell_text
from zentracer.observe.facts import Facts
from zentracer.observe.histogram import histogram as histogram_of
from zentracer.observe.kinds import TORCH, array_kind
from zentracer.observe.numpy_moments import NUMBER_KINDS, numpy_moments
from zentracer.observe.ops import Ops, ops_for
from zentracer.observe.reduce import EXACT, Picture
from zentracer.observe.sampling import PIECE
from zentracer.observe.slicing import Selection
from zentracer.observe.stats import DEVICE_PIECE, Look, to_body
from zentracer.observe.torch_moments import torch_moments
from zentracer.tensor_view import notes
from zentracer.wire.editor import Histogram, Image, Page, TensorQuery

STATS_LIMIT = 1 << 26
"""Elements that statistics look at; more are sampled."""
BINS, MOST_BINS = 64, 512
PIXELS, MOST_PIXELS = 512, 1024
"""Width and height of a picture."""
PAGE, LARGEST_PAGE = (50, 20), (200, 100)
"""Rows and columns."""


class Shown(NamedTuple):
    """An array that is looked at."""

    facts: Facts
    data: Any
    """The elements, whose shape may differ from the tensor's own; None if there are none."""
    selection: Selection
    remarks: List[str]
    """Sentences for the user, added to by the views."""

    @property
    def is_complex(self) -> bool:
        """Whether the elements are complex numbers."""
        return self.facts.dtype.startswith("complex")

    @property
    def part(self) -> Any:
        """The selected elements, an array even of no dimensions."""
        return self.data[(*self.selection.entries, ...)]


def data_of(array: Any, facts: Facts) -> Any:
    """The elements that may be read, or None."""
    data = facts.data
    if data is None and facts.notes == ("memmap",) and array.dtype.kind in NUMBER_KINDS:
        # Too slow a disk for a row of the Variables view, but this is what the user asked for.
        numpy = sys.modules["numpy"]
        facts.on_host = True
        return numpy.ndarray.view(array, numpy.ndarray)
    if (
        data is not None
        and facts.notes[:1] == ("quantised per_channel_affine",)
        and facts.size <= EXACT
    ):
        return data.dequantize()  # it cannot be sliced otherwise
    return data


def stats(array: Any, shown: Shown, query: TensorQuery) -> Dict[str, Any]:
    """Statistics of the whole tensor, whatever the slice."""
    data, on_host = shown.data, shown.facts.on_host
    piece = PIECE if on_host else DEVICE_PIECE
    look = torch_moments if array_kind(type(data)) == TORCH else numpy_moments
    moments = look(data, limit=STATS_LIMIT, piece=piece, zeros=True)
    return {"stats": to_body(array, Look(shown.facts, moments))}


def histogram(array: Any, shown: Shown, query: TensorQuery) -> Dict[str, Any]:
    """Histogram of the slice."""
    bins = _within(query.width, BINS, MOST_BINS)
    found = histogram_of(shown.part, bins=bins, limit=EXACT)
    if found is None:
        shown.remarks.append("No element is finite, so there is no histogram.")
        return {}
    if shown.is_complex:
        shown.remarks.append(notes.MAGNITUDES)
    counts = tuple(found.counts)
    body = Histogram(low=found.low, high=found.high, counts=counts, sampled=found.sampled)
    return {"histogram": body}


def image(array: Any, shown: Shown, query: TensorQuery) -> Dict[str, Any]:
    """The slice, reduced to a picture."""
    selection = shown.selection
    ops = ops_for(shown.data)
    height = _within(query.height, PIXELS, MOST_PIXELS)
    width = _within(query.width, PIXELS, MOST_PIXELS)
    blocks = blocks_of(selection.rows, selection.columns, height, width)
    with ops.quietly():
        planes = _planes(shown, ops)
        picture = Picture(ops, blocks, len(planes))
        picture.draw(planes)
    if picture.sampled:
        shown.remarks.append(
            f"The slice has {selection.size:,} elements: of each block, some were looked at."
        )
    if shown.is_complex:
        shown.remarks.append(notes.MAGNITUDES)
    body = Image(
        width=blocks.width,
        height=blocks.height,
        channels=picture.channels,
        row_step=blocks.row_step,
        column_step=blocks.column_step,
        data=_text(picture.means),
        marks=_text(picture.marks),
        lows=_text(picture.lows) if picture.lows is not None else None,
        highs=_text(picture.highs) if picture.highs is not None else None,
        sampled=picture.sampled,
    )
    return {"image": body}


def page(array: Any, shown: Shown, query: TensorQuery) -> Dict[str, Any]:
    """Some elements of the slice as text."""
    selection = shown.selection
    row, rows = _range(query.row, query.height, selection.rows, PAGE[0], LARGEST_PAGE[0])
    column, columns = _range(query.column, query.width, selection.columns, PAGE[1], LARGEST_PAGE[1])
    ops = ops_for(shown.data)
    with ops.quietly():
        (matrix,) = _planes(shown, ops)
        part = matrix[row : row + rows, column : column + columns]
        if getattr(part, "is_quantized", False):
            part = part.dequantize()
        elements = part.tolist()
    dtype = shown.facts.dtype
    cells = tuple(tuple(cell_text(element, dtype) for element in line) for line in elements)
    return {"page": Page(row=row, column=column, cells=cells)}


def _planes(shown: Shown, ops: Ops) -> List[Any]:
    """The slice as matrices, one a channel."""
    selection = shown.selection
    kept = [dim for dim, entry in enumerate(selection.entries) if isinstance(entry, slice)]
    channel = [] if selection.channels is None else [selection.channels]
    part = ops.turned(shown.part, [kept.index(dim) for dim in (*selection.axes, *channel)])
    for _ in range(2 - len(selection.axes)):
        part = part[None]
    if not channel:
        return [part]
    return [part[:, :, number] for number in range(part.shape[2])]


def _range(start: int, count: Optional[int], length: int, usual: int, most: int) -> Tuple[int, int]:
    """First index and number of indices; beyond the end, the last ones are shown."""
    count = _within(count, usual, most)
    return max(0, start if start < length else length - count), count


def _within(wanted: Optional[int], usual: int, most: int) -> int:
    return usual if wanted is None else max(1, min(wanted, most))


def _text(memory: bytearray) -> str:
    return base64.b64encode(memory).decode("ascii")
