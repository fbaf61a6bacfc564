"""How far a value is from what it was before at the same place.

RUNS IN the user's training process. Of each place one sample is kept, never the tensor.
"""

from __future__ import annotations

import collections
import math
import sys
import threading
from typing import Any, List, Tuple

from zentracer.fork_locks import renewed
from zentracer.observe.kinds import TORCH, array_kind
from zentracer.observe.numpy_moments import numpy_sample
from zentracer.observe.ops import ops_for
from zentracer.observe.torch_moments import torch_sample
from zentracer.zt.arrays import parts, readable

SAMPLE = 262_144
"""Elements compared: 2 MB a place."""
MOST_PLACES = 256

Place = Tuple[str, int, str]
"""File, line, expression."""
Key = Tuple[Place, int]
"""A place, and which of the calls within the expression."""


def since_last(x: Any, key: Key) -> float:
    """Relative change of ``x`` since the last call with ``key``; it is compared to next time.

    Returns:
        Norm of the difference over the norm of the earlier value; 0 at the first call.
    """
    now = [_sampled(part) for part in parts("changed", x)]
    with _lock:
        before = _kept.pop(key, None)
        _kept[key] = now
        while len(_kept) > MOST_PLACES:
            _kept.popitem(last=False)
    return 0.0 if before is None else _distance(before, now)


class _Sampled:
    """The shape of one value and some of its elements, or all."""

    def __init__(self, shape: Any, flat: Any) -> None:
        self.shape = shape
        self.flat = flat


_kept: collections.OrderedDict[Key, List[_Sampled]] = collections.OrderedDict()
_lock = renewed(sys.modules[__name__], "_lock", threading.Lock)


def _sampled(x: Any) -> _Sampled:
    if not array_kind(type(x)):
        return _Sampled((), float(x))
    facts = readable("changed", x)
    with ops_for(facts.data).quietly():
        sample = torch_sample if array_kind(type(facts.data)) == TORCH else numpy_sample
        flat, _ = sample(facts.data, SAMPLE)
        copied = flat.cpu().clone() if array_kind(type(flat)) == TORCH else flat.copy()
    return _Sampled((facts.dtype, facts.shape), copied)


def _distance(before: List[_Sampled], now: List[_Sampled]) -> float:
    if [part.shape for part in before] != [part.shape for part in now]:
        return math.inf
    difference = size = 0.0
    for old, new in zip(before, now):
        change, norm = _squares(old.flat, new.flat)
        difference += change
        size += norm
    if difference == 0:
        return 0.0
    return math.sqrt(difference / size) if size > 0 else math.inf


def _squares(old: Any, new: Any) -> Tuple[float, float]:
    """Squared norms of the difference and of the old value, over what is finite in both."""
    if isinstance(old, float):
        if old == new or (old != old and new != new):
            return 0.0, old * old if math.isfinite(old) else 0.0
        finite = math.isfinite(old) and math.isfinite(new)
        return ((new - old) ** 2, old * old) if finite else (math.inf, 1.0)
    ops = ops_for(old)
    with ops.quietly():
        finite = ops.finite(old) & ops.finite(new)
        if not bool(finite.all()):
            same = (old == new) | ((old != old) & (new != new))
            if not bool((same | finite).all()):
                return math.inf, 1.0
            old, new = ops.some(old, finite), ops.some(new, finite)
        step = new - old
        return float((step * step).sum()), float((old * old).sum())
