"""Statistics of a torch tensor or a numpy array: pure, bounded, and never raising.

RUNS IN the user's training process. Looking draws no random numbers, records no graph, changes
no version counter, triggers no ``__torch_function__`` or ``__torch_dispatch__`` of anybody's,
and does not synchronise an accelerator unless asked.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Optional

from zentracer.observe.facts import Facts
from zentracer.observe.kinds import NUMPY, TORCH, array_kind
from zentracer.observe.moments import Moments
from zentracer.observe.numpy_facts import numpy_facts
from zentracer.observe.numpy_moments import numpy_moments
from zentracer.observe.quiet import quiet, torch_if_loaded
from zentracer.observe.sampling import PIECE
from zentracer.observe.torch_facts import torch_facts
from zentracer.observe.torch_moments import torch_moments
from zentracer.wire.messages import Stats

ROW_LIMIT = 131_072
"""Elements looked at for one row of the Variables view: about a quarter of a millisecond."""
HIT_LIMIT = 1 << 27
"""Elements looked at for a finding: 10^8 take well under a second."""
DEVICE_PIECE = 1 << 24
"""Elements handled by one operation on an accelerator."""


class Look(NamedTuple):
    """What was seen of one array."""

    facts: Facts
    moments: Optional[Moments]
    """None when the elements were not read; ``facts.why`` then says why."""


def stats(array: Any, *, limit: int = ROW_LIMIT, sync: bool = False) -> Stats:
    """Statistics of ``array`` from at most ``limit`` of its elements.

    Args:
        array: A torch tensor or a numpy array of any kind.
        limit: A larger array is sampled, and the result says so.
        sync: Whether to wait for the accelerator that holds the tensor. Without it, tensors
            that are not on the CPU get their metadata only.
    """
    return to_body(array, look(array, limit=limit, zeros=True, sync=sync))


def exact_stats(array: Any) -> Stats:
    """Statistics of all elements, for a finding; waits for the accelerator.

    Beyond ``HIT_LIMIT`` elements, a sample of that many is taken to bound the time.
    """
    return to_body(array, look(array, limit=HIT_LIMIT, zeros=True, sync=True))


def look(array: Any, *, limit: int, zeros: bool = False, sync: bool = False) -> Look:
    """Facts and moments of ``array``; never raises."""
    facts = None
    try:
        kind = array_kind(type(array))
        if kind == TORCH:
            with quiet():
                facts = torch_facts(array)
                if facts.data is None or not (facts.on_host or (sync and may_wait(facts))):
                    return Look(facts, None)
                piece = PIECE if facts.on_host else DEVICE_PIECE
                moments = torch_moments(facts.data, limit=limit, piece=piece, zeros=zeros)
                return Look(facts, moments)
        if kind == NUMPY:
            facts = numpy_facts(array)
            if facts.data is not None:
                moments = numpy_moments(facts.data, limit=limit, piece=PIECE, zeros=zeros)
                return Look(facts, moments)
    except Exception as error:  # any tensor type may raise anything, and looking must not
        facts = facts or _unreadable(array, error)
    return Look(facts or Facts(None, "?", "?", why="no array"), None)


def facts_of(array: Any) -> Facts:
    """Metadata of ``array``; never raises."""
    try:
        if array_kind(type(array)) == NUMPY:
            return numpy_facts(array)
        with quiet():
            return torch_facts(array)
    except Exception as error:  # any tensor type may raise anything, and looking must not
        return _unreadable(array, error)


def to_body(array: Any, seen: Look) -> Stats:
    """The wire form of what was seen."""
    facts, moments = seen
    size = facts.size
    known = moments if moments is not None and moments.count else None
    return Stats(
        shape=facts.sizes,
        dtype=facts.dtype,
        device=facts.device,
        size=size,
        bytes=size * _item_bytes(array),
        min=_finite(known.min) if known else None,
        max=_finite(known.max) if known else None,
        mean=_finite(known.mean) if known else None,
        std=_finite(known.std) if known else None,
        absmax=_finite(known.absmax) if known else None,
        norm=_finite(known.norm) if known else None,
        nan=moments.nan if moments is not None else None,
        inf=moments.inf if moments is not None else None,
        zeros=moments.zeros if moments is not None else None,
        sampled=moments.sampled if moments is not None else False,
    )


def error_text(error: BaseException) -> str:
    """The first line of an error, with its type; never raises."""
    try:
        first_line = str(error).partition("\n")[0]
    except Exception:  # the error's own __str__ is user code
        first_line = ""
    return f"{type(error).__name__}: {first_line}" if first_line else type(error).__name__


def _unreadable(array: Any, error: Exception) -> Facts:
    """What a tensor type that raises for its metadata still tells."""
    told = {}
    for name in ("dtype", "device"):
        try:
            with quiet():
                told[name] = str(getattr(array, name)).rpartition(".")[2]
        except Exception:  # the question is which of them raises
            told[name] = "?"
    why = f"unreadable: {error_text(error)}"
    return Facts(None, told["dtype"], told["device"], why=why)


def may_wait(facts: Facts) -> bool:
    """Whether the data may be fetched now: doing so breaks the capture of a CUDA graph."""
    if facts.on_host:
        return True
    capturing = torch_if_loaded().cuda.is_current_stream_capturing
    return not (facts.device.startswith("cuda") and capturing())


def _item_bytes(array: Any) -> int:
    try:
        with quiet():
            return int(array.dtype.itemsize)
    except Exception:  # a broken tensor type; its size is not worth an error
        return 0


def _finite(number: Optional[float]) -> Optional[float]:
    return float(number) if number is not None and math.isfinite(number) else None
