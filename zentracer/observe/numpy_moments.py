"""Moments of numpy arrays.

RUNS IN the user's training process. numpy is only used if the user has imported it.
"""

from __future__ import annotations

import math
import sys
from typing import Any, Tuple

from zentracer.observe.moments import Moments, merge, of_numbers, repeated
from zentracer.observe.sampling import (
    BLOCK,
    BLOCKS,
    FEW,
    block_step,
    blocks_within,
    pieces,
    thinned,
    without_repeats,
)

NUMBER_KINDS = "biufc"
"""numpy's kinds of dtype that have statistics."""


def numpy_moments(data: Any, *, limit: int, piece: int, zeros: bool) -> Moments:
    """Moments of a plain ``numpy.ndarray`` of numbers; see ``torch_moments``."""
    index, times = without_repeats(data.shape, data.strides)
    if times > 1:
        data = data[index]
    with sys.modules["numpy"].errstate(all="ignore"):
        if data.size <= limit:
            return repeated(_exact(data, piece, zeros), times)
        moments = repeated(_exact(_sample(data, limit), piece, zeros), times)
    moments.sampled = True
    return moments


def numpy_sample(data: Any, limit: int) -> Tuple[Any, bool]:
    """At most ``limit`` elements as a flat float64 array, and whether they are a sample."""
    index, _times = without_repeats(data.shape, data.strides)
    data = data[index]
    if data.size <= limit:
        return _as_float64(data), False
    return _as_float64(_sample(data, limit)), True


def _exact(data: Any, piece: int, zeros: bool) -> Moments:
    if 0 < data.size <= FEW and data.dtype.kind in "fiu":
        return of_numbers(data.reshape(-1).tolist())
    if data.size <= piece:
        return _of_piece(data, zeros)
    ordered = _in_memory_order(data)
    return merge(_of_piece(part, zeros) for part in pieces(ordered, ordered.shape, piece))


def _in_memory_order(data: Any) -> Any:
    """Transpose so that the slowest dimension comes first; the elements stay the same."""
    return data.transpose(sorted(range(data.ndim), key=lambda dim: -abs(data.strides[dim])))


def _sample(data: Any, limit: int) -> Any:
    ordered = _in_memory_order(data)
    blocks = blocks_within(limit)
    if ordered.flags.c_contiguous and data.size > blocks * BLOCK * 2:
        strides = (block_step(data.size, blocks) * data.itemsize, data.itemsize)
        tricks = sys.modules["numpy"].lib.stride_tricks
        return tricks.as_strided(ordered.reshape(-1), (blocks, BLOCK), strides)
    return thinned(data, data.shape, min(limit, BLOCKS * BLOCK))


def _of_piece(part: Any, zeros: bool) -> Moments:
    if not part.size:
        return Moments()
    numpy = sys.modules["numpy"]
    numbers = _as_float64(part)
    low, high = float(numpy.minimum.reduce(numbers)), float(numpy.maximum.reduce(numbers))
    if not (math.isfinite(low) and math.isfinite(high)):
        nan = int(numpy.isnan(numbers).sum())
        moments = _of_piece(numbers[numpy.isfinite(numbers)], zeros)
        moments.nan = nan
        moments.inf = part.size - nan - moments.count
        return moments
    mean = float(numpy.add.reduce(numbers)) / part.size
    differences = numbers - mean
    return Moments(
        count=part.size,
        min=low,
        max=high,
        mean=mean,
        m2=float(numpy.add.reduce(differences * differences)),
        zeros=part.size - int(numpy.count_nonzero(numbers)) if zeros else 0,
    )


def _as_float64(part: Any) -> Any:
    numpy = sys.modules["numpy"]
    numbers = numpy.abs(part) if part.dtype.kind == "c" else part
    return numbers.astype(numpy.float64).reshape(-1)
