"""Moments of torch tensors.

RUNS IN the user's training process. Every function here is called inside ``quiet()``.
"""

from __future__ import annotations

import math
from typing import Any, List, Sequence, Tuple

from zentracer.observe.moments import Moments, merge, of_numbers, repeated
from zentracer.observe.quiet import torch_if_loaded
from zentracer.observe.sampling import (
    BLOCK,
    BLOCKS,
    FEW,
    block_step,
    blocks_within,
    pieces,
    product,
    thinned,
    without_repeats,
)


def torch_moments(data: Any, *, limit: int, piece: int, zeros: bool) -> Moments:
    """Moments of a strided tensor whose elements exist.

    Args:
        data: The tensor; complex elements count by magnitude.
        limit: Largest number of elements to look at; a larger tensor is sampled.
        piece: Elements handled by one operation.
        zeros: Whether to count zeros too.
    """
    times = 1
    if not data.is_contiguous():
        index, times = without_repeats(data.shape, data.stride())
        data = data[index]
    shape = data.shape
    if product(shape) <= limit:
        return repeated(_exact(data, shape, piece, zeros), times)
    sample = _sample(data, shape, limit)
    moments = repeated(_exact(sample, tuple(sample.shape), piece, zeros), times)
    moments.sampled = True
    return moments


def torch_sample(data: Any, limit: int) -> Tuple[Any, bool]:
    """At most ``limit`` elements as a flat float64 tensor, and whether they are a sample."""
    torch = torch_if_loaded()
    if not data.is_contiguous():
        index, _times = without_repeats(data.shape, data.stride())
        data = data[index]
    if data.numel() <= limit:
        return _as_float64(data, torch), False
    return _as_float64(_sample(data, data.shape, limit), torch), True


def _exact(data: Any, shape: Sequence[int], piece: int, zeros: bool) -> Moments:
    size = product(shape)
    if 0 < size <= FEW and data.is_cpu:
        return of_numbers(_few_numbers(data))
    if size <= piece:
        return _of_piece(data, size, zeros)
    if not data.is_contiguous():
        data = _in_memory_order(data)
    return merge(_of_piece(part, part.numel(), zeros) for part in pieces(data, data.shape, piece))


def _in_memory_order(data: Any) -> Any:
    """Permute the dimensions so that the slowest comes first; the elements stay the same."""
    if data.is_contiguous():
        return data
    strides = data.stride()
    return data.permute(sorted(range(data.dim()), key=lambda dim: -strides[dim]))


def _sample(data: Any, shape: Sequence[int], limit: int) -> Any:
    ordered = _in_memory_order(data)
    size = product(shape)
    blocks = blocks_within(limit)
    if ordered.is_contiguous() and not data.is_quantized and size > blocks * BLOCK * 2:
        return ordered.as_strided((blocks, BLOCK), (block_step(size, blocks), 1))
    return thinned(data, shape, min(limit, BLOCKS * BLOCK))


def _of_piece(part: Any, size: int, zeros: bool) -> Moments:
    if not size:
        return Moments()
    torch = torch_if_loaded()
    numbers = _as_float64(part, torch)
    low, high = torch.aminmax(numbers)
    low, high = low.item(), high.item()
    if not (math.isfinite(low) and math.isfinite(high)):
        finite = torch.isfinite(numbers)
        nan = int(torch.isnan(numbers).sum().item())
        numbers = numbers.masked_select(finite)  # an index wakes the thread pool far earlier
        moments = _of_piece(numbers, numbers.numel(), zeros)
        moments.nan = nan
        moments.inf = size - nan - moments.count
        return moments
    mean = numbers.sum().item() / size
    spread = torch.linalg.vector_norm(numbers - mean).item()
    return Moments(
        count=size,
        min=low,
        max=high,
        mean=mean,
        m2=spread * spread,
        zeros=size - int(torch.count_nonzero(numbers).item()) if zeros else 0,
    )


def _few_numbers(data: Any) -> List[float]:
    if data.is_quantized or data.is_complex():
        data = _as_float64(data, torch_if_loaded())
    return (data if data.dim() == 1 else data.reshape(-1)).tolist()


def _as_float64(part: Any, torch: Any) -> Any:
    if part.is_quantized:
        part = part.dequantize()
    if part.dtype.is_complex:
        part = part.abs()
    wide = torch.float32 if part.device.type == "mps" else torch.float64  # MPS lacks float64
    return part.to(wide).reshape(-1)
