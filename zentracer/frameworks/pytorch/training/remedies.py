"""Why an activation is dead or saturated, and what to try.

RUNS IN the training process, when there is something to tell. Causes are looked for in the layer
before: what it is given, how large its weights are, its bias, the learning rate.
"""

from __future__ import annotations

import math
import types
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from zentracer.frameworks.pytorch.report import Finding
from zentracer.frameworks.pytorch.training.builder import optimizer_of, rate_of
from zentracer.frameworks.pytorch.training.causes import learning_rate
from zentracer.frameworks.pytorch.training.producers import Layer
from zentracer.wire.messages import Suggestion

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.hub import Training

LARGE_INPUT = 5.0
"""Root mean square of inputs that count as unscaled: initialisation schemes assume 1 (He 2015)."""
LARGE_WEIGHTS = 3.0
"""Weights so many times He's (Glorot's) initialisation count as too large."""
HIGH_RATES = {"SGD": 0.1, "": 0.01}
"""Learning rates that count as high, of plain SGD and of the others; ten times usual defaults."""
_MAX_ROWS = 64


def for_dead(
    training: Training, finding: Finding, layer: Layer, frame: types.FrameType, *, whole: bool
) -> None:
    """Add to ``finding`` what is known of the layer before, and what to try."""
    weight, given = layer.weight(), layer.input
    bias = layer.bias() if layer.bias is not None else None
    if weight is None:
        return
    named = training.names.of(weight, frame)
    name = named.module_name if named is not None else "the layer before"
    evidence, tries = [], []
    gradient = weight.grad
    if gradient is not None and whole:
        zero = not bool(gradient.any())
        evidence.append(
            f"gradient of {name}.weight: " + ("exactly 0" if zero else f"{_norm(gradient):.3g}")
        )
    if not bool(weight.any()):
        tries.append(
            Suggestion(
                title=f"Initialise {name} with numbers that differ",
                why="its weights are all 0, so every unit gives the same 0 and gets no gradient. "
                'nn.init.kaiming_normal_(layer.weight, nonlinearity="relu").',
            )
        )
    tries += _inputs(evidence, given, name)
    tries += _rate(training, frame, weight)
    if bias is not None:
        tries += _bias(training, evidence, bias, frame)
    tries.append(
        Suggestion(
            title="Use an activation that lets some gradient through",
            why="nn.LeakyReLU(0.01), nn.GELU() or nn.SiLU() have a slope below zero, so a unit "
            "can come back; batch or layer norm before the activation keeps half of it active.",
        )
    )
    finding.evidence += tuple(evidence)
    finding.suggestions = tuple(tries[:4])


def for_saturated(
    training: Training, finding: Finding, layer: Layer | None, frame: types.FrameType, *,
    op: str, is_softmax: bool,
) -> None:  # fmt: skip
    """Add to ``finding`` why its values are so large, and what to try."""
    evidence: list[str] = []
    tries: list[Suggestion] = []
    weight = layer.weight() if layer is not None else None
    if layer is not None and weight is not None:
        named = training.names.of(weight, frame)
        name = named.module_name if named is not None else "the layer before"
        tries += _inputs(evidence, layer.input, name)
        tries += _weights(evidence, weight, name)
        tries += _rate(training, frame, weight)
    if is_softmax:
        tries.append(
            Suggestion(
                title="Divide the scores before the softmax",
                why="every row is one-hot to float precision, so its gradient is 0: attention "
                "scores want q @ k.T / sqrt(d) (Vaswani et al. 2017), others a temperature.",
            )
        )
    tries.append(
        Suggestion(
            title=f"Normalise before the {op}",
            why=f"nn.LayerNorm or nn.BatchNorm in front keeps its input near 0, where {op} has "
            "slope; nn.init.xavier_uniform_ starts there (Glorot & Bengio 2010).",
        )
    )
    finding.evidence += tuple(evidence)
    finding.suggestions = tuple(tries[:4])


def _inputs(evidence: list[str], given: Tensor | None, name: str) -> list[Suggestion]:
    if given is None or not given.is_floating_point():
        return []
    rows = given[: max(1, given.shape[0])].float()
    mean, std = float(rows.mean()), float(rows.std(correction=0))
    size = math.sqrt(mean * mean + std * std)
    evidence.append(f"input of {name}: mean {mean:.3g}, std {std:.3g}")
    if size < LARGE_INPUT:
        return []
    return [
        Suggestion(
            title=f"Scale what {name} is given to mean 0 and std 1",
            why=f"it has mean {mean:.3g} and std {std:.3g}; weights are initialised for inputs "
            "around 1, and each update moves the result by as much more: x = (x - x.mean(0)) / "
            "x.std(0), for bytes x / 255.",
        )
    ]


def _weights(evidence: list[str], weight: Tensor, name: str) -> list[Suggestion]:
    values = weight.detach().float()
    fan_in = values.numel() // values.shape[0]
    spread = float(values.std(correction=0)) * math.sqrt(fan_in)
    evidence.append(f"weights of {name}: std * sqrt(fan_in) = {spread:.3g}, 1 keeps sizes")
    if spread < LARGE_WEIGHTS:
        return []
    return [
        Suggestion(
            title=f"Initialise {name} with smaller weights",
            why=f"they are {spread:.3g} times what keeps the size of the input: "
            "nn.init.xavier_uniform_(layer.weight).",
        )
    ]


def _bias(
    training: Training, evidence: list[str], bias: Tensor, frame: types.FrameType
) -> list[Suggestion]:
    named = training.names.of(bias, frame)
    name = named.name if named is not None else "the bias"
    values = bias.detach().float()
    mean = float(values.mean())
    evidence.append(f"{name} in [{float(values.min()):.3g}, {float(values.max()):.3g}]")
    if not mean < -1:
        return []
    return [
        Suggestion(
            title=f"Set {name} back to 0",
            why=f"its mean is {mean:.3g}: it holds the units below zero whatever comes in. "
            f"{name}.data.zero_() lets a stopped run go on.",
        )
    ]


def _rate(training: Training, frame: types.FrameType, weight: Tensor) -> list[Suggestion]:
    optimizer = optimizer_of(weight)
    rate = rate_of(optimizer, weight) if optimizer is not None else None
    if optimizer is None or rate is None:
        return []
    high = HIGH_RATES.get(type(optimizer).__name__, HIGH_RATES[""])
    if rate < high:
        return []
    why = "one large update can push every unit to where it has no slope; a warm-up helps as well."
    lower = learning_rate(optimizer, frame, why)
    return [lower] if lower is not None else []


def _norm(x: Tensor) -> float:
    return float(torch.linalg.vector_norm(x.detach().float()))
