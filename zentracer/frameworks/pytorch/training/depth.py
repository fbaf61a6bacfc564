"""How gradients change from the loss to the input of a model.

RUNS IN the training process. A gradient's size is its root mean square, norm / sqrt(elements), so
that layers of different width compare.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Iterable

from zentracer.frameworks.pytorch.training.candidate import Candidate
from zentracer.frameworks.pytorch.training.layers import Graph, is_embedding

SHARE = 1e-5
"""Of the last layer's gradient. Layers of 1/100000 of its size do not learn with one learning rate
for all; ten layers of torch's own initialisation and ReLU, which still learn, reach 1e-4."""
SHARE_AT_ONCE = 1e-7
"""One pass is enough. SageMaker Debugger's VanishingGradient takes a mean absolute gradient of 1e-7
itself; a share of the last layer's does not depend on the loss."""
STEPS = 5
"""Passes in a row that show a share below ``SHARE``."""
_LAYERS = 4
_FALLING = 0.75
"""Share of the layers whose gradient is below that of the layer after it."""
_INNER = 0.7
"""Share of the whole fall, in orders of magnitude, that lies between inner layers: a last layer
whose gradient alone is huge is no sign of vanishing."""


@dataclass(frozen=True)
class Layer:
    """Weights at one depth of the graph."""

    depth: int
    """Operations between the loss and the layer."""
    size: float
    """Root mean square of the gradient; geometric mean over what lies side by side."""
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True)
class Fall:
    """Gradients that vanish on the way to the input."""

    layers: tuple[Layer, ...]
    """From the loss to the input."""
    share: float
    """Of the early layers' gradient in the last one's."""
    worst: Candidate
    factor: float
    """What a layer leaves of the gradient, as a geometric mean; 0 where all are alike."""

    @property
    def is_even(self) -> bool:
        """Whether all weights lack a gradient alike: hardly anything arrives at the last layer."""
        return not self.factor


def size_of(norm: float, elements: int) -> float:
    """Return the root mean square of a gradient."""
    return norm / math.sqrt(elements) if elements else 0.0


def layers_of(candidates: Iterable[Candidate], graph: Graph) -> list[Layer]:
    """Return the weight matrices with a gradient by depth, those nearest to the loss first."""
    by_depth: dict[int, list[Candidate]] = {}
    for candidate in candidates:
        reached = graph.reached.get(id(candidate.parameter))
        if reached is None or candidate.parameter.dim() < 2 or not candidate.norm:
            continue
        if not is_embedding(candidate.module):
            by_depth.setdefault(reached.depth, []).append(candidate)
    found: list[Layer] = []
    for depth in sorted(by_depth):
        there = by_depth[depth]
        logs = [math.log(size_of(c.norm or 0.0, c.parameter.numel())) for c in there]
        found.append(Layer(depth, math.exp(sum(logs) / len(logs)), tuple(there)))
    return found


def fall_of(candidates: list[Candidate], graph: Graph) -> Fall | None:
    """Return how far gradients fall, if they do so from layer to layer."""
    layers = layers_of(candidates, graph)
    if len(layers) < _LAYERS:
        return None
    return _steady(layers) or _even(layers, candidates, graph)


def _steady(layers: list[Layer]) -> Fall | None:
    sizes = [layer.size for layer in layers]
    falling = sum(after < before for before, after in zip(sizes, sizes[1:])) / (len(sizes) - 1)
    early = min(layers[-max(1, len(layers) // 3) :], key=lambda layer: layer.size)
    whole = math.log(sizes[0] / early.size)
    inner = math.log(sizes[1] / early.size)
    if falling < _FALLING or whole <= 0 or inner < _INNER * whole:
        return None
    worst = min(early.candidates, key=lambda c: c.norm or 0.0)
    factor = math.exp(-whole / max(1, layers.index(early)))
    return Fall(tuple(layers), early.size / sizes[0], worst, factor)


def _even(layers: list[Layer], candidates: list[Candidate], graph: Graph) -> Fall | None:
    """Return the fall from the bias of the last layer to the weights of every layer.

    A bias of the last layer gets the gradient of the loss itself; weights get it times what arrives
    from the layer before, which is next to nothing where each layer shrinks its input.
    """
    first = layers[0].depth
    biases = [
        size_of(c.norm, c.parameter.numel())
        for c in candidates
        if c.norm and c.parameter.dim() < 2
        and (reached := graph.reached.get(id(c.parameter))) is not None
        and reached.depth <= first
    ]  # fmt: skip
    if not biases:
        return None
    largest = max(layer.size for layer in layers)
    worst = min((c for layer in layers for c in layer.candidates), key=lambda c: c.norm or 0.0)
    return Fall(tuple(layers), largest / max(biases), worst, 0.0)
