"""Which matrix of an array is shown: an index in Python's syntax, checked against a shape.

RUNS IN the user's training process. Standard library only; nothing is evaluated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple, Union

Entry = Union[int, slice]
MAX_TEXT = 1000
"""Longest index that is read; 64 dimensions need less."""
CHANNELS = (1, 3, 4)
"""Sizes a dimension of channels may have: grey, RGB, RGBA."""

_NUMBER = r"\s*([+-]?\d{1,18})?\s*"
_INT = re.compile(r"[+-]?\d{1,18}\Z")
_RANGE = re.compile(f"{_NUMBER}:{_NUMBER}(?::{_NUMBER})?\\Z")


class SliceError(Exception):
    """An index that does not fit; the text is a sentence for the user."""


@dataclass(frozen=True)
class Selection:
    """A part of an array, with the dimensions that run down and across."""

    entries: Tuple[Entry, ...]
    """One a dimension: an index, or a range whose start, stop and step are numbers."""
    lengths: Tuple[int, ...]
    """How many indices of each dimension are selected; 1 for a single index."""
    axes: Tuple[int, ...]
    """Down and across; only across for a vector, none for a scalar."""
    channels: Optional[int]
    text: str
    """The index, normalised."""

    @property
    def size(self) -> int:
        """Number of selected elements."""
        size = 1
        for length in self.lengths:
            size *= length
        return size

    @property
    def rows(self) -> int:
        """Rows of the matrix; 0 when nothing is selected."""
        if not self.size:
            return 0
        return self.lengths[self.axes[0]] if len(self.axes) == 2 else 1

    @property
    def columns(self) -> int:
        """Columns of the matrix; 0 when nothing is selected."""
        if not self.size:
            return 0
        return self.lengths[self.axes[-1]] if self.axes else 1


def whole(shape: Sequence[int]) -> Selection:
    """Everything, whatever the number of dimensions."""
    return any_part(shape, ", ".join(":" for _ in shape))


def any_part(shape: Sequence[int], text: str) -> Selection:
    """Like ``matrix``, for those who do not care how many dimensions are left.

    Raises:
        SliceError: ``text`` is no index for that shape.
    """
    entries = _parse(text, shape)
    ranges = [dim for dim, entry in enumerate(entries) if isinstance(entry, slice)]
    return _selection(entries, shape, tuple(ranges[-2:]), None)


def matrix(
    shape: Sequence[int],
    text: Optional[str] = None,
    axes: Optional[Sequence[int]] = None,
    channels: Optional[int] = None,
) -> Selection:
    """Select a matrix, a vector or a scalar.

    Args:
        shape: Sizes of the array's dimensions.
        text: The index, missing dimensions being whole; without it the last two dimensions (or
            ``axes``, and ``channels``) at index 0 of the others.
        axes: The dimensions that run down and across, where not in the array's order.
        channels: A dimension that is neither, of size 1, 3 or 4.

    Raises:
        SliceError: the index, the axes or the channels do not fit the shape.
    """
    rank = len(shape)
    channel = None if channels is None else _dimension(channels, rank, "channels")
    wanted = tuple(_dimension(axis, rank, "axes") for axis in axes or ())
    if len(wanted) > 2 or len({*wanted, channel}) < len(wanted) + 1:
        raise SliceError("'axes' names at most two different dimensions, and not the channels.")
    if text is None or not text.strip():
        entries = _default(shape, wanted, channel)
    else:
        entries = _parse(text, shape)
    ranges = [dim for dim, entry in enumerate(entries) if isinstance(entry, slice)]
    if channel is not None:
        _check_channels(entries[channel], channel)
        ranges.remove(channel)
    _check_axes(ranges, wanted, entries)
    return _selection(entries, shape, wanted or tuple(ranges), channel)


def _selection(
    entries: List[Entry], shape: Sequence[int], axes: Tuple[int, ...], channels: Optional[int]
) -> Selection:
    lengths = tuple(_length(entry, size) for entry, size in zip(entries, shape))
    text = ", ".join(_text(entry, size) for entry, size in zip(entries, shape))
    return Selection(tuple(entries), lengths, axes, channels, text)


def _default(shape: Sequence[int], axes: Tuple[int, ...], channel: Optional[int]) -> List[Entry]:
    rest = [dim for dim in range(len(shape)) if dim != channel]
    ranges = {*(axes or rest[-2:]), channel}
    return [slice(0, size, 1) if dim in ranges else 0 for dim, size in enumerate(shape)]


def _parse(text: str, shape: Sequence[int]) -> List[Entry]:
    if len(text) > MAX_TEXT:
        raise SliceError(f"The index is longer than {MAX_TEXT} characters.")
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    if len(parts) > 1 and not parts[-1]:
        parts.pop()  # Python allows a comma at the end
    given = sum(part != "..." for part in parts)
    if len(parts) - given > 1:
        raise SliceError(f"'{text}' has more than one '...'.")
    if given > len(shape):
        raise SliceError(f"'{text}' has {given} entries, but the tensor has {_dims(len(shape))}.")
    at = parts.index("...") if "..." in parts else len(parts)
    filled = parts[:at] + [":"] * (len(shape) - given) + parts[at + 1 :]
    return [_entry(part, dim, size) for dim, (part, size) in enumerate(zip(filled, shape))]


def _entry(part: str, dim: int, size: int) -> Entry:
    if _INT.match(part):
        return _index(int(part), dim, size)
    found = _RANGE.match(part)
    if not found:
        raise SliceError(
            f"'{part}' is no index for dimension {dim}: write a number, a range such as 10:20, or "
            "'...' for what is left."
        )
    start, stop, step = (None if text is None else int(text) for text in found.groups())
    if step is not None and step < 1:
        raise SliceError(f"The step of '{part}' in dimension {dim} must be 1 or more.")
    start, stop, step = slice(start, stop, step).indices(size)
    return slice(start, max(start, stop), step)


def _index(index: int, dim: int, size: int) -> int:
    if size == 0 and index == 0:
        return 0  # what we say ourselves about an empty dimension
    if not -size <= index < size:
        raise SliceError(f"Index {index} is out of range for dimension {dim}, of size {size}.")
    return index + size if index < 0 else index


def _check_channels(entry: Entry, channel: int) -> None:
    if not isinstance(entry, slice):
        raise SliceError(f"Dimension {channel} holds the channels, so it must be a range.")
    length = len(range(entry.start, entry.stop, entry.step))
    if length not in CHANNELS:
        raise SliceError(
            f"Dimension {channel} has {length} indices here; channels are 1 (grey), 3 (RGB) or 4 "
            "(RGBA)."
        )


def _check_axes(ranges: List[int], wanted: Tuple[int, ...], entries: List[Entry]) -> None:
    for axis in wanted:
        if not isinstance(entries[axis], slice):
            raise SliceError(f"Dimension {axis} is at one index, so it cannot be an axis.")
    if len(ranges) > 2:
        names = ", ".join(map(str, ranges))
        raise SliceError(
            f"At most two dimensions can be shown, and this index leaves {len(ranges)} ({names}): "
            "put a number in the others."
        )
    if wanted and set(wanted) != set(ranges):
        names = ", ".join(map(str, ranges))
        raise SliceError(f"'axes' must name all dimensions that the index leaves ({names}).")


def _dimension(dim: int, rank: int, what: str) -> int:
    if not -rank <= dim < rank:
        raise SliceError(f"'{what}' names dimension {dim}, but the tensor has {_dims(rank)}.")
    return dim % rank


def _length(entry: Entry, size: int) -> int:
    if isinstance(entry, slice):
        return len(range(entry.start, entry.stop, entry.step))
    return 1 if size else 0


def _text(entry: Entry, size: int) -> str:
    if not isinstance(entry, slice):
        return str(entry)
    start = str(entry.start) if entry.start else ""
    stop = str(entry.stop) if entry.stop != size else ""
    return f"{start}:{stop}" if entry.step == 1 else f"{start}:{stop}:{entry.step}"


def _dims(count: int) -> str:
    return "1 dimension" if count == 1 else f"{count} dimensions"
