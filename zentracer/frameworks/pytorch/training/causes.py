"""What to try about gradients and updates of the wrong size.

RUNS IN the training process, when there is something to tell. Each function looks at one cause and
answers None if it does not apply.
"""

from __future__ import annotations

import ast
import types
from typing import Any

from torch import Tensor, nn

from zentracer.control.source import call_name, function_node, parsed
from zentracer.frameworks.pytorch.frames import user_frames
from zentracer.frameworks.pytorch.origin import location
from zentracer.frameworks.pytorch.report import place_name
from zentracer.frameworks.pytorch.training.builder import (
    construction_place,
    is_adaptive,
    lower_rate,
    rate_of,
)
from zentracer.frameworks.pytorch.training.layers import (
    Graph,
    gain_of,
    is_recurrent,
    recurrent_weight,
    spectral_norm,
)
from zentracer.wire.messages import Suggestion

HIGH_GAIN = 2.0
"""Weights so many times He's initialisation double what passes through every layer, and more."""
_NORMALISES = ("norm",)
"""Part of the names of layers and operations that normalise."""


def learning_rate(
    optimizer: Any, frame: types.FrameType | None, why: str, *, divisor: float = 10
) -> Suggestion | None:
    """Suggest a tenth of the learning rate, or less, with the edit where its number is written."""
    rate = rate_of(optimizer)
    if rate is None:
        return None
    place = construction_place(optimizer, frame)
    at = f" ({type(optimizer).__name__} at {place_name(place.location)})" if place else ""
    return Suggestion(
        title=f"Lower the learning rate from {rate:g} to {rate / divisor:.6g}{at}",
        why=why,
        edit=lower_rate(optimizer, frame, divisor),
    )


def clipping(frame: types.FrameType | None, *, why: str) -> Suggestion | None:
    """Suggest to clip gradients, unless the program does."""
    line = clips_at(frame)
    if line is not None:
        return None
    return Suggestion(
        title="Clip the gradients between backward() and step()",
        why=f"{why} torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0) bounds what "
        "one step can do (Pascanu et al. 2013).",
    )


def clips_at(frame: types.FrameType | None) -> str | None:
    """Return where the functions that are running clip gradients, e.g. ``train.py:12``."""
    for user in user_frames(frame):
        path = user.f_code.co_filename
        module = parsed(path)
        for node in ast.walk(function_node(module, user.f_code)) if module is not None else ():
            if isinstance(node, ast.Call) and "clip_grad" in call_name(node):
                return place_name(location(path, node.lineno))
    return None


def recurrence(module: Any, weight: Tensor, graph: Graph | None) -> tuple[float, Suggestion] | None:
    """Suggest to tame a recurrence; return the spectral norm of its weights with it."""
    if not is_recurrent(module, weight, graph):
        return None
    matrix = recurrent_weight(module, weight)
    norm = spectral_norm(matrix) if matrix is not None else None
    if norm is None or norm <= 1:
        return None
    return norm, Suggestion(
        title="Start the recurrent weights with a spectral norm of at most 1",
        why=f"their largest singular value is {norm:.3g}: gradients grow up to {norm:.3g} times "
        "with each time step. nn.init.orthogonal_(rnn.weight_hh_l0, gain=0.9), an LSTM or GRU in "
        "place of a plain RNN, or shorter sequences (truncated backpropagation).",
    )


def initialisation(weights: list[tuple[str, Tensor]]) -> tuple[float, Suggestion] | None:
    """Suggest smaller weights where most layers enlarge what passes through them."""
    gains = sorted(gain for _, w in weights if (gain := gain_of(w)) is not None)
    if len(gains) < 2 or gains[len(gains) // 2] < HIGH_GAIN:
        return None
    median = gains[len(gains) // 2]
    return median, Suggestion(
        title="Initialise the weights by the size of their layer",
        why=f"the weights of half of the {len(gains)} layers are {median:.3g} times as large as "
        "He's initialisation or more: activations and gradients grow with each layer. "
        'nn.init.kaiming_normal_(layer.weight, nonlinearity="relu") for ReLU, '
        "nn.init.xavier_uniform_(layer.weight) for tanh and sigmoid.",
    )


def normalisation(root: nn.Module | None, graph: Graph | None) -> Suggestion | None:
    """Suggest normalisation for a deep model without any."""
    if normalises(root, graph) is not False:
        return None
    return Suggestion(
        title="Normalise between the layers",
        why="the model has no normalisation: nn.LayerNorm (sequences, small batches) or "
        "nn.BatchNorm (images) after each layer keeps the size of what passes through it, and "
        "residual connections give gradients a direct way.",
    )


def normalises(root: nn.Module | None, graph: Graph | None) -> bool | None:
    """Tell whether a model normalises; None if that cannot be told."""
    if root is None and graph is None:
        return None
    kinds = [type(module).__name__ for module in root.modules()] if root is not None else []
    kinds += list(graph.operations) if graph is not None else []
    return any(
        part in kind.lower()
        for kind in kinds
        for part in _NORMALISES
        if "linalg" not in kind.lower() and "vectornorm" not in kind.lower()
    )


def warm_up(optimizer: Any, step: int) -> Suggestion | None:
    """Suggest to begin with small steps, at the beginning of a training."""
    if step > 100:
        return None
    kind = "Adam's averages know little yet" if is_adaptive(optimizer) else "weights are far off"
    return Suggestion(
        title="Warm the learning rate up",
        why=f"in the first steps gradients are largest and {kind}: let the rate rise from near 0 "
        "over some hundred steps, e.g. torch.optim.lr_scheduler.LinearLR(optimizer, 0.01).",
    )
