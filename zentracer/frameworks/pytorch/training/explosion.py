"""When gradients are out of all proportion: against their history, or against the weights.

RUNS IN the training process.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor

from zentracer.frameworks.pytorch.finite import readable_tensor
from zentracer.frameworks.pytorch.training import causes
from zentracer.frameworks.pytorch.training.candidate import Candidate
from zentracer.frameworks.pytorch.training.layers import Graph, is_recurrent
from zentracer.frameworks.pytorch.training.norms import EARLY, Series
from zentracer.wire.messages import Suggestion

JUMP = 100.0
"""Times the median of the last 64 updates: a run is its own measure, as in AutoClip (Seetharaman et
al. 2020), and the healthy trainings of tests/programs/zoo stay a factor of 3 below all of these."""
_ABOVE_MOST = 10.0
"""Times what nine of ten recent norms stay below."""
_ABOVE_ALL = 3.0
"""Times the largest recent norm: rare but ordinary outliers of a run have been seen before."""
_ABOVE_EARLY = 10.0
"""Times the median of the first 20 updates: a gradient that was all but zero may return."""
_RISE = 5
"""The last updates may be the beginning of the explosion and are no measure for it."""
_PART = 0.1
"""Share of the norm of all gradients that one parameter to blame has at least."""

START = 1e4
"""Gradient norm over weight norm; about 0.01 to 10 where a training begins in health."""
START_UNKNOWN = 1e6
"""The same where the size of the update is not known, or does not grow with the gradient (Adam)."""
_SPECTRAL = 1.5
"""torch's own initialisation of a plain RNN has a spectral norm of about 1.15."""
_DEPTH_GROWTH = 1e3
"""Times the gradient of the last layer that the first one's is."""
_DEPTH_LAYERS = 4
_DEPTH_RISING = 0.7
"""Share of the layers whose gradient is above that of the layer after it."""


@dataclass(frozen=True)
class Start:
    """An explosion that the first passes show."""

    share: float
    """Gradient norm over weight norm, over all matrices."""
    worst: Candidate
    cause: str
    """What multiplies the gradient, as the end of a sentence."""
    suggestion: Suggestion | None


def jump(series: Series, total: float) -> float | None:
    """Return how many times its median a gradient norm is, if that is out of all proportion."""
    count = len(series.totals)
    if count < EARLY:
        return None
    median = statistics.median(series.totals)
    if total < JUMP * median or total < _ABOVE_EARLY * statistics.median(series.early):
        return None
    older = sorted(islice(series.totals, count - _RISE))
    if total < _ABOVE_MOST * older[int(0.9 * len(older))] or total < _ABOVE_ALL * older[-1]:
        return None
    return total / median


def share_of_weights(candidates: list[Candidate]) -> float:
    """Return the norm of the gradients of all matrices over that of the matrices."""
    matrices = [c for c in candidates if c.parameter.dim() > 1]
    gradient = math.hypot(*(c.norm or 0.0 for c in matrices))
    weights = math.hypot(*(norm_of(c.parameter) or 0.0 for c in matrices))
    return gradient / weights if weights else 0.0


def norm_of(x: Tensor) -> float | None:
    """Return the Euclidean norm of ``x``, as far as it can be read."""
    plain = readable_tensor(x)
    if plain is None:
        return None
    dtype = torch.float64 if plain.is_cpu else torch.float32
    return float(torch.linalg.vector_norm(plain.detach(), dtype=dtype))


def multiplier(candidates: list[Candidate], share: float, graph: Graph | None) -> Start | None:
    """Return what multiplies gradients through depth or time, if anything is there to see."""
    ranked = sorted(
        (c for c in candidates if c.parameter.dim() > 1), key=lambda c: -(c.norm or 0.0)
    )
    for candidate in ranked[:16]:
        found = causes.recurrence(candidate.module, candidate.parameter, graph)
        if found is not None and found[0] > _SPECTRAL:
            text = f"the recurrent weights have a spectral norm of {found[0]:.3g}"
            worst = _recurrent(candidates, candidate, graph)
            return Start(share, worst, text, found[1])
    gains = causes.initialisation([(c.name, c.parameter) for c in ranked])
    if gains is not None:
        text = f"the weights are {gains[0]:.3g} times as large as He's initialisation"
        return Start(share, ranked[0], text, gains[1])
    growth = _growth_through_depth(ranked, graph)
    if growth is not None:
        return Start(share, ranked[0], f"it grows {growth:.3g} times through the layers", None)
    return None


def _recurrent(candidates: list[Candidate], found: Candidate, graph: Graph | None) -> Candidate:
    """Return the recurrent weight of the module of ``found``."""
    for candidate in candidates:
        same = candidate.module is found.module and candidate.parameter.dim() == 2
        square = same and candidate.parameter.shape[0] == candidate.parameter.shape[1]
        if square and is_recurrent(candidate.module, candidate.parameter, graph):
            return candidate
    return found


def _growth_through_depth(matrices: list[Candidate], graph: Graph | None) -> float | None:
    if graph is None:
        return None
    placed = [
        (graph.reached[id(c.parameter)].depth, (c.norm or 0.0) / math.sqrt(c.parameter.numel()))
        for c in matrices
        if id(c.parameter) in graph.reached and c.norm
    ]
    sizes = [size for _, size in sorted(placed)]  # from the loss to the input
    if len(sizes) < _DEPTH_LAYERS:
        return None
    rising = sum(after > before for before, after in zip(sizes, sizes[1:])) / (len(sizes) - 1)
    growth = sizes[-1] / sizes[0]
    return growth if rising >= _DEPTH_RISING and growth >= _DEPTH_GROWTH else None


def worst_of(candidates: list[Candidate], series: Series, total: float) -> Candidate:
    """Return the parameter that jumped highest, of those that make up much of the whole."""
    large = [c for c in candidates if (c.norm or 0.0) >= _PART * total] or candidates

    def factor(candidate: Candidate) -> float:
        median = series.median_of(candidate.parameter)
        return (candidate.norm or 0.0) / median if median else 0.0

    return max(large, key=factor)
