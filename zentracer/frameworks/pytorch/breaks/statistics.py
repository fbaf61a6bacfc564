"""One statistic of a tensor, as a condition asks for it.

RUNS IN the training process, in our own look at values. All statistics at once take several passes
in double precision; a condition mostly names one, is asked at each call, and mostly does not hold.
"""

from __future__ import annotations

import math
from typing import Any, Callable

import torch
from torch import Tensor

from zentracer.frameworks.pytorch.finite import PLAIN, looks_finite, readable_tensor
from zentracer.observe.stats import exact_stats

_NARROW = (torch.float16, torch.bfloat16)


class Statistics:
    """Of one tensor; each is computed when it is asked for. Floats are None where not known."""

    def __init__(self, x: Tensor) -> None:
        readable = readable_tensor(x)
        self._x = readable.detach() if readable is not None else _countable(x)
        self._is_floating = readable is not None
        self._all: Any = None

    def __getitem__(self, name: str) -> Any:
        """Return a statistic over the finite elements, or a count."""
        x = self._x
        if x is None:
            return None
        quick = _QUICK.get(name) if self._is_floating and self._all is None else None
        value = quick(x) if quick is not None and not x.is_complex() else None
        if value is not None and math.isfinite(value):
            return value
        if self._all is None:
            self._all = exact_stats(x)
        return getattr(self._all, name)


def _countable(x: Any) -> Tensor | None:
    """Return ``x`` if it holds integers or truth values that may be read."""
    if type(x) not in PLAIN or x.is_floating_point() or x.is_complex() or x.is_quantized:
        return None
    return x if x.layout is torch.strided and not x.is_meta and x.numel() else None


# Each returns a number that is not finite, or None, where the quick way does not serve.


def _bad(x: Tensor) -> float | None:
    return 0 if looks_finite(x) else None


def _min(x: Tensor) -> float:
    low, high = torch.aminmax(x)
    return low.item() if math.isfinite(high.item()) else math.nan


def _max(x: Tensor) -> float:
    low, high = torch.aminmax(x)
    return high.item() if math.isfinite(low.item()) else math.nan


def _absmax(x: Tensor) -> float:
    low, high = torch.aminmax(x)
    return max(abs(low.item()), abs(high.item()))


def _norm(x: Tensor) -> float:
    wide = torch.float32 if x.dtype in _NARROW else None
    return torch.linalg.vector_norm(x, dtype=wide).item()


def _mean(x: Tensor) -> float:
    return x.mean(dtype=torch.float32 if x.dtype in _NARROW else None).item()


def _std(x: Tensor) -> float | None:
    if x.numel() < 2:
        return None
    return (x.float() if x.dtype in _NARROW else x).std().item()


def _zeros(x: Tensor) -> int:
    return x.numel() - int(torch.count_nonzero(x).item())


_QUICK: dict[str, Callable[[Tensor], float | None]] = {
    "nan": _bad,
    "inf": _bad,
    "min": _min,
    "max": _max,
    "absmax": _absmax,
    "norm": _norm,
    "mean": _mean,
    "std": _std,
    "zeros": _zeros,
}
