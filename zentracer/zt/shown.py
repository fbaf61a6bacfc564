"""What ``zt.stats`` and ``zt.hist`` return: objects that read well in one line.

RUNS IN the user's training process.
"""

from __future__ import annotations

import math
from typing import Any, List, Optional, Tuple

from zentracer.observe.histogram import histogram
from zentracer.observe.kinds import array_kind
from zentracer.observe.stats import HIT_LIMIT, look, to_body
from zentracer.present.arrays import head
from zentracer.present.numbers import short
from zentracer.zt.arrays import moments, readable
from zentracer.zt.errors import ZtError

_BARS = "▁▂▃▄▅▆▇█"


class Summary:
    """Statistics of one value, over its finite elements; None where the elements do not exist."""

    def __init__(self, x: Any) -> None:
        self.shape: Tuple[int, ...] = ()
        self.dtype, self.device, self.size = type(x).__name__, "", 1
        self._why, self._named = "", ""
        self.min: Optional[float] = None
        self.max: Optional[float] = None
        self.mean: Optional[float] = None
        self.std: Optional[float] = None
        self.absmax: Optional[float] = None
        self.norm: Optional[float] = None
        self.nan: Optional[int] = None
        self.inf: Optional[int] = None
        self.zeros: Optional[int] = None
        if array_kind(type(x)):
            self._take_array(x)
        else:
            self._take(moments("stats", x))
            found = moments("zeros", x)
            self.zeros, self.size = found.zeros, found.count + found.nan + found.inf

    def __repr__(self) -> str:
        parts = [self._head()]
        if self.min is not None and self.max is not None:
            parts.append(f"x∈[{short(self.min)}, {short(self.max)}]")
            parts.append(f"μ={short(self.mean)} σ={short(self.std)} norm={short(self.norm)}")
        parts += [f"{n} {count}" for n, count in self._counts() if count]
        return " · ".join([*parts, self._why] if self._why else parts)

    def _head(self) -> str:
        return self._named or f"{self.dtype} of {self.size:,}"

    def _counts(self) -> List[Tuple[str, Optional[int]]]:
        return [("NaN", self.nan), ("Inf", self.inf), ("zeros", self.zeros)]

    def _take(self, found: Any) -> None:
        self.nan, self.inf = found.nan, found.inf
        if found.count:
            self.min, self.max, self.mean = found.min, found.max, found.mean
            self.std, self.absmax, self.norm = found.std, found.absmax, found.norm

    def _take_array(self, x: Any) -> None:
        seen = look(x, limit=HIT_LIMIT, zeros=True, sync=True)
        body = to_body(x, seen)
        self.shape, self.dtype, self.device = body.shape, body.dtype, body.device
        self.size, self.zeros = body.size, body.zeros
        self._named = head(seen.facts)
        if seen.moments is not None:
            self._take(seen.moments)
        else:
            self._why = seen.facts.why


class Histogram:
    """Counts of finite elements in equal bins."""

    __slots__ = ("counts", "edges", "sampled")

    def __init__(self, x: Any, bins: int) -> None:
        if not array_kind(type(x)):
            raise ZtError("zt.hist takes one tensor or array.")
        if type(bins) is not int or not 1 <= bins <= 10_000:
            raise ZtError(f"zt.hist takes 1 to 10,000 bins, not {bins}.")
        found = histogram(readable("hist", x).data, bins=bins, limit=HIT_LIMIT)
        self.counts: List[int] = found.counts if found is not None else []
        self.edges: List[float] = (
            [found.edge(at) for at in range(len(found.counts) + 1)] if found is not None else []
        )
        self.sampled = found is not None and found.sampled

    def __repr__(self) -> str:
        if not self.counts:
            return "no finite element"
        most = max(self.counts)
        bars = "".join(_bar(count, most) for count in self.counts)
        return (
            f"{short(self.edges[0])} {bars} {short(self.edges[-1])} · {sum(self.counts):,} elements"
        )


def _bar(count: int, most: int) -> str:
    """A bar for a bin; an empty bin is a space, whatever is in one is seen."""
    return _BARS[math.ceil(count * len(_BARS) / most) - 1] if count else " "
