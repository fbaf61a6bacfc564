"""What is known of a block of numbers: its mean, and which special values are in it.

RUNS IN the user's training process, inside ``ops.quietly()``.
"""

from __future__ import annotations

import math
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

from zentracer.observe.ops import Ops


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
        has_envelope: Whether minima and maxima are wanted; there is a single row then.
        is_cut: Whether ``array`` holds only a part of its block, to be joined with others.
    """
    numbers = ops.floats(array)
    tall = numbers.shape[1]
    sums = (numbers.sum(1) if tall > 1 else numbers[:, 0]).sum(-1)
    low = ops.lowest(numbers[0, 0], 1)[None] if has_envelope else None
    high = ops.highest(numbers[0, 0], 1)[None] if has_envelope else None
    is_plain = bool((sums / sums == 1).all())  # 0, NaN and the infinities make NaN of it
    if is_plain and not is_cut:
        return Part(sums / size, None, low, high)
    rows = _by_block(numbers, ops)
    special = _ordinary(sums, rows.shape[1], ops)
    part = Part(ops.wide(sums) / size, special, low, high)
    if not is_plain:
        wild = ~ops.finite(sums)
        _fill([special.other], sums == 0, rows, lambda some: [_is_other(some, ops)], ops)
        _fill(_arrays(part), wild, rows, lambda some: _arrays(_closely(some, part, size, ops)), ops)
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


def _ordinary(sums: Any, count: int, ops: Ops) -> Special:
    """As if all elements were finite, and not all of a block zero."""
    no, yes = sums != sums, sums == sums  # those that are NaN are judged anew
    return Special(ops.full(ops.wide(sums), count), no, ops.copied(no), ops.copied(no), yes)


def _arrays(part: Part) -> List[Any]:
    assert part.special is not None
    bounds = [] if part.low is None else [part.low, part.high]
    return [part.share, *part.special, *bounds]


def _fill(
    arrays: List[Any], chosen: Any, rows: Any, look: Callable[[Any], List[Any]], ops: Ops
) -> None:
    """Write what ``look`` finds about the ``chosen`` blocks, in place."""
    if not bool(chosen.any()):
        return
    if bool(chosen.all()):
        for array, found in zip(arrays, look(rows)):
            array[:] = found.reshape(array.shape)
    else:
        for array, found in zip(arrays, look(ops.rows(rows, chosen))):
            ops.put(array, chosen, found)


def _closely(rows: Any, like: Part, size: int, ops: Ops) -> Part:
    """What the sums could not tell, of blocks that are rows; arrays [blocks]."""
    finite = ops.finite(rows)
    count = finite.sum(1)
    clean = ops.cleaned(rows, 0)
    sums = clean.sum(1)
    share = ops.wide(sums) / size
    if not bool(ops.finite(sums).all()):
        share = (ops.wide(clean) / size).sum(1)
    other = sums != 0
    _fill([other], (sums == 0) & (count > 0), clean, lambda some: [_is_other(some, ops)], ops)
    part = Part(share, Special(ops.wide(count), *_kinds(rows, ops), other))
    if like.low is None:
        return part
    low = ops.lowest(ops.where(finite, rows, ops.full(rows[:1, :1], math.inf)), 1)
    high = ops.highest(ops.where(finite, rows, ops.full(rows[:1, :1], -math.inf)), 1)
    return part._replace(low=low, high=high)


def _is_other(rows: Any, ops: Ops) -> Any:
    """Which rows of finite numbers have one that is not zero."""
    return (ops.highest(rows, 1) != 0) | (ops.lowest(rows, 1) != 0)


def _kinds(rows: Any, ops: Ops) -> Tuple[Any, Any, Any]:
    """Which rows have NaN, +Inf and -Inf."""
    capped = rows.clip(-1, 1).sum(1)  # of what is not finite, only NaN outlives a clip
    numbers = ops.cleaned(rows, math.inf)
    up, down = ops.highest(numbers, 1) == math.inf, ops.lowest(numbers, 1) == -math.inf
    return capped != capped, up, down
