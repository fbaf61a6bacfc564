"""What is known of a block of numbers: its mean, and which special values are in it.

RUNS IN the user's training process, inside ``ops.quietly()``.
"""

from __future__ import annotations

import math
from typing import Any, Iterator, NamedTuple, Optional, Tuple

from zentracer.observe.ops import Ops

INNER = (1, 3)
"""The dimensions inside a block, of an array [down, tall, across, wide]."""


class Part(NamedTuple):
    """Some blocks, or a part of one block; arrays [down, across]."""

    share: Any
    """Sum of the finite elements, divided by the number of all elements of the block."""
    special: Optional[Special] = None
    """None where every element is finite and no block is all zero."""
    low: Optional[Any] = None
    """Smallest finite element, where an envelope is wanted."""
    high: Optional[Any] = None


class Special(NamedTuple):
    """What is not ordinary in some blocks; arrays [down, across]."""

    count: Any
    """Number of finite elements."""
    nan: Any
    """Whether there is a NaN."""
    up: Any
    """Whether there is +Inf."""
    down: Any
    """Whether there is -Inf."""
    other: Any
    """Whether some finite element is not zero."""


def reduced(
    array: Any, size: int, ops: Ops, *, has_envelope: bool = False, is_cut: bool = False
) -> Part:
    """Reduce each block of ``array`` [down, tall, across, wide].

    The sums alone tell which blocks need a closer look: one that is not finite has a NaN or an
    infinity in it, or has overflowed; and only a sum of zero may be one of zeros alone.

    Args:
        array: The elements, or some of them.
        size: How many elements of a block there are in all.
        ops: Of the array's framework.
        has_envelope: Whether minima and maxima are wanted.
        is_cut: Whether ``array`` holds only a part of its block, to be joined with others.
    """
    numbers = ops.floats(array)
    sums = numbers.sum(INNER)
    low = ops.lowest(numbers[0, 0], (1,))[None] if has_envelope else None  # a single row
    high = ops.highest(numbers[0, 0], (1,))[None] if has_envelope else None
    plain = sums / sums == 1  # 0, NaN and the infinities make NaN of it
    if not is_cut and bool(plain.all()):
        return Part(sums / size, None, low, high)
    rows = _by_block(numbers, ops)
    wild = ~plain
    if bool(wild.all()):
        return _shaped(_closely(rows, size, ops, has_envelope), tuple(sums.shape))
    share = ops.wide(sums) / size
    special = Special(
        ops.full(share, rows.shape[1]), ~plain, ops.copied(wild), ops.copied(wild), plain
    )
    part = Part(share, special, low, high)
    if bool(wild.any()):
        few = ops.rows(rows, wild)
        _put(part, wild, _closely(few, size, ops, has_envelope))
    return part


def joined(one: Part, two: Part, ops: Ops) -> Part:
    """Two parts of the same cut block."""
    assert one.special is not None and two.special is not None
    count, *flags = zip(one.special, two.special)
    special = Special(count[0] + count[1], *(ours | theirs for ours, theirs in flags))
    low = high = None
    if one.low is not None and one.high is not None:
        low = ops.where(one.low < two.low, one.low, two.low)
        high = ops.where(one.high > two.high, one.high, two.high)
    return Part(one.share + two.share, special, low, high)


def _by_block(numbers: Any, ops: Ops) -> Any:
    """The elements as one row a block."""
    down, tall, across, wide = numbers.shape
    return ops.turned(numbers, (0, 2, 1, 3)).reshape((down * across, tall * wide))


def _closely(rows: Any, size: int, ops: Ops, has_envelope: bool) -> Part:
    """What the sums could not tell, of blocks that are rows; arrays [blocks]."""
    finite = ops.finite(rows)
    count = finite.sum(1)
    share, other = _sums(ops.cleaned(rows, 0), size, ops)
    special = Special(ops.wide(count), *_kinds(rows, count, ops), other)
    if not has_envelope:
        return Part(share, special)
    low = ops.lowest(_or(finite, rows, math.inf, ops), (1,))
    high = ops.highest(_or(finite, rows, -math.inf, ops), (1,))
    return Part(share, special, low, high)


def _arrays(part: Part) -> Iterator[Any]:
    assert part.special is not None
    yield from (part.share, *part.special)
    if part.low is not None:
        yield from (part.low, part.high)


def _shaped(part: Part, shape: Tuple[int, ...]) -> Part:
    share, count, nan, up, down, other, *bounds = (array.reshape(shape) for array in _arrays(part))
    return Part(share, Special(count, nan, up, down, other), *bounds)


def _put(part: Part, chosen: Any, found: Part) -> None:
    """Write what was found about the ``chosen`` blocks, in place."""
    for array, values in zip(_arrays(part), _arrays(found)):
        array[chosen] = values


def _sums(clean: Any, size: int, ops: Ops) -> Tuple[Any, Any]:
    """Share, and whether anything is not zero, of rows of finite numbers."""
    sums = clean.sum(1)
    share = ops.wide(sums) / size
    if not bool(ops.finite(sums).all()):
        share = (ops.wide(clean) / size).sum(1)
    other = sums != 0
    if not bool(other.all()):
        rest = ops.rows(clean, ~other)
        other[~other] = (ops.highest(rest, (1,)) != 0) | (ops.lowest(rest, (1,)) != 0)
    return share, other


def _kinds(rows: Any, count: Any, ops: Ops) -> Tuple[Any, Any, Any]:
    """Which blocks have NaN, +Inf and -Inf; only those are asked that are not finite."""
    wild = count < rows.shape[1]
    if not bool(wild.any()):
        return wild, ops.copied(wild), ops.copied(wild)
    if bool(wild.all()):
        return _wild_kinds(rows, ops)
    flags = (ops.copied(wild), ops.copied(wild), ops.copied(wild))
    for flag, found in zip(flags, _wild_kinds(ops.rows(rows, wild), ops)):
        flag[wild] = found
    return flags


def _wild_kinds(rows: Any, ops: Ops) -> Tuple[Any, Any, Any]:
    capped = rows.clip(-1, 1).sum(1)  # of what is not finite, only NaN outlives a clip
    numbers = ops.cleaned(rows, math.inf)
    up = ops.highest(numbers, (1,)) == math.inf
    return capped != capped, up, ops.lowest(numbers, (1,)) == -math.inf


def _or(kept: Any, numbers: Any, other: float, ops: Ops) -> Any:
    return ops.where(kept, numbers, ops.full(numbers[:1, :1], other))
