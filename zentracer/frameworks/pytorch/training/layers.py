"""The layers of a model in the order of its graph, and what their weights are like.

RUNS IN the training process, once something looks suspicious.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Any, Iterable

import torch
from torch import Tensor, nn

from zentracer.frameworks.pytorch.finite import readable_tensor
from zentracer.frameworks.pytorch.training.events import leaf_of, node_of

_MAX_NODES = 20_000
_MAX_SPECTRAL = 16_000_000
"""Elements of the largest matrix whose spectral norm is measured; takes about 0.3 s."""
_ITERATIONS = 30


@dataclass(frozen=True)
class Reached:
    """How a graph reaches one leaf."""

    leaf: Tensor
    depth: int
    """Operations between the loss and its nearest use."""
    uses: int
    """How often it is used: weights of a recurrence once a time step."""


@dataclass(frozen=True)
class Graph:
    """What a graph consists of."""

    reached: dict[int, Reached]
    """By the identity of the leaf."""
    operations: dict[str, int]
    """How often each kind of node occurs."""


def graph_of(roots: Iterable[Any]) -> Graph:
    """Walk the graph behind ``roots``, breadth first."""
    queue = deque((node, 0) for root in roots if (node := node_of(root)) is not None)
    seen = {node for node, _ in queue}
    reached: dict[int, Reached] = {}
    operations: dict[str, int] = {}
    while queue and len(seen) < _MAX_NODES:
        node, depth = queue.popleft()
        name = node.name().split("::")[-1]
        operations[name] = operations.get(name, 0) + 1
        for following, _ in node.next_functions:
            if following is None:
                continue
            leaf = leaf_of(following)
            if leaf is not None:
                known = reached.get(id(leaf))
                first, uses = (known.depth, known.uses) if known is not None else (depth, 0)
                reached[id(leaf)] = Reached(leaf, first, uses + 1)
            elif following not in seen:
                seen.add(following)
                queue.append((following, depth + 1))
    return Graph(reached, operations)


def is_recurrent(module: Any, weight: Tensor, graph: Graph | None) -> bool:
    """Tell whether ``weight`` multiplies a state again and again without a gate between.

    A plain recurrent module, or a square matrix that one graph uses many times.
    """
    if isinstance(module, (nn.RNN, nn.RNNCell)):
        return True
    if isinstance(module, (nn.RNNBase, nn.RNNCellBase)):
        return False  # their gates bound what comes back
    reached = graph.reached.get(id(weight)) if graph is not None else None
    square = weight.dim() == 2 and weight.shape[0] == weight.shape[1]
    return square and reached is not None and reached.uses >= 4


def recurrent_weight(module: Any, weight: Tensor) -> Tensor | None:
    """Return the matrix by which a recurrence multiplies its state."""
    if isinstance(module, (nn.RNN, nn.RNNCell)):
        return next((p for n, p in module.named_parameters(recurse=False) if "hh" in n), None)
    return weight if weight.dim() == 2 and weight.shape[0] == weight.shape[1] else None


def spectral_norm(matrix: Tensor) -> float | None:
    """Return the largest singular value, by power iteration on a copy; draws no random numbers."""
    plain = readable_tensor(matrix)
    if plain is None or plain.dim() != 2 or plain.numel() > _MAX_SPECTRAL:
        return None
    copy = plain.detach().to("cpu", torch.float64, copy=True)
    scale = float(copy.abs().max())
    if not scale or not math.isfinite(scale):
        return None
    copy /= scale
    # All directions, none of them preferred by a symmetry of the matrix.
    vector = torch.linspace(1.0, 2.0, copy.shape[1], dtype=torch.float64).sqrt()
    for _ in range(_ITERATIONS):
        vector = copy.T @ (copy @ (vector / vector.norm()))
        if not float(vector.norm()):
            return 0.0
    return scale * math.sqrt(float(vector.norm()))


def gain_of(weight: Tensor) -> float | None:
    """Return how much larger the weights are than He's initialisation: std * sqrt(fan_in / 2).

    He et al. 2015, "Delving deep into rectifiers": there each layer keeps the size of its input.
    """
    plain = readable_tensor(weight)
    if plain is None or plain.dim() < 2:
        return None
    fan_in = plain.numel() // plain.shape[0]
    spread = spread_of(plain)
    return spread * math.sqrt(fan_in / 2) if spread is not None and fan_in > 1 else None


def spread_of(weight: Tensor) -> float | None:
    """Return the standard deviation of weights, as far as they can be read."""
    plain = readable_tensor(weight)
    return float(plain.detach().float().std(correction=0)) if plain is not None else None


def is_embedding(module: Any) -> bool:
    """Tell whether most rows of the weights of ``module`` are not used in a step."""
    return isinstance(module, (nn.Embedding, nn.EmbeddingBag))
