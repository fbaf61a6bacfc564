"""Which elements of a large array are looked at, and in which pieces.

RUNS IN the user's training process. Works on torch tensors and numpy arrays alike: both take
slices, and slices are views.
"""

from __future__ import annotations

from typing import Any, Iterator, Sequence, Tuple

PIECE = 32_767
"""Elements handled by one array operation. PyTorch runs operations of less than 32,768 elements
on the calling thread: no thread pool is woken, which would hang in a forked child."""
FEW = 128
"""Up to so many elements, a Python list is cheaper than array operations."""
BLOCKS = 256
BLOCK = 64
"""A sample is 256 blocks of 64 neighbours: neighbours share cache lines, and whole blocks cannot
alias with the row length the way a fixed stride does."""


def pieces(array: Any, shape: Sequence[int], piece: int) -> Iterator[Any]:
    """Cut ``array`` into views of at most ``piece`` elements."""
    size = product(shape)
    if size <= piece or not shape:
        if size:
            yield array
        return
    row = size // shape[0]
    if row > piece:
        for index in range(shape[0]):
            yield from pieces(array[index], shape[1:], piece)
        return
    step = max(1, piece // row)
    for start in range(0, shape[0], step):
        yield array[start : start + step]


def thinned(array: Any, shape: Sequence[int], limit: int) -> Any:
    """Take every n-th index of the longest dimensions until at most ``limit`` elements remain."""
    steps = [1] * len(shape)
    lengths = list(shape)
    while product(lengths) > limit:
        longest = lengths.index(max(lengths))
        steps[longest] = steps[longest] * 2 + 1  # odd, so that powers of two do not alias
        lengths[longest] = -(-shape[longest] // steps[longest])
    return array[tuple(slice(None, None, step) for step in steps)]


def blocks_within(limit: int) -> int:
    """How many blocks a sample of at most ``limit`` elements has."""
    return min(BLOCKS, limit // BLOCK)


def block_step(size: int, blocks: int = BLOCKS) -> int:
    """Distance between the starts of two sampled blocks in ``size`` contiguous elements.

    It is odd, so that it is no multiple of the usual row lengths.
    """
    step = (size - BLOCK) // (blocks - 1)
    return step - 1 + step % 2


def without_repeats(shape: Sequence[int], strides: Sequence[int]) -> Tuple[Tuple[Any, ...], int]:
    """Index that keeps one element of each expanded dimension, and how often each stands there."""
    index = []
    times = 1
    for length, stride in zip(shape, strides):
        repeats = stride == 0 and length > 1
        times *= length if repeats else 1
        index.append(slice(0, 1) if repeats else slice(None))
    return tuple(index), times


def product(shape: Sequence[int]) -> int:
    """Number of elements of an array of that shape."""
    size = 1
    for length in shape:
        size *= length
    return size
