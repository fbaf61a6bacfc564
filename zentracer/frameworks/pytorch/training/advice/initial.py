"""``poor_initialisation``: weights that a training cannot start from.

RUNS IN the training process, in the first steps of each optimiser.
"""

from __future__ import annotations

import math
import weakref
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase  # type: ignore[attr-defined]
from torch.nn.modules.conv import _ConvNd  # type: ignore[attr-defined]

from zentracer.frameworks.pytorch.finite import readable_tensor
from zentracer.frameworks.pytorch.training.advice.adviser import Adviser, Rule
from zentracer.frameworks.pytorch.training.advice.constants import filling_line, making_line
from zentracer.frameworks.pytorch.training.events import Update
from zentracer.frameworks.pytorch.training.names import Named
from zentracer.wire.messages import Suggestion

RULE = Rule("poor_initialisation", "Poor initialisation")
_LOOKS = 3
"""Steps in which units must be copies of each other: weights and gradients alike."""
_TOO_LARGE, _TOO_SMALL = 6.0, 0.01
"""Standard deviation times the root of the fan-in. 1.41 keeps the signal's size through ReLU (He et
al. 2015), 1 through tanh (Glorot and Bengio 2010); four times more a layer saturates or explodes,
a hundredth vanishes."""
_LEAST_FAN_IN = 16
_LAYERS = 2
"""So many layers must be out of scale; a single one may be meant."""
_NORMS = (_NormBase, nn.LayerNorm, nn.GroupNorm)


@dataclass
class _Start:
    """The first steps of one optimiser."""

    looks: int = 0
    copies: dict[int, tuple[weakref.ref[Tensor], int, float]] = field(
        default_factory=lambda: dict[int, "tuple[weakref.ref[Tensor], int, float]"]()
    )
    """Weights whose units are copies of each other, in how many steps they were, and what all
    elements were at first; NaN if they differed along the row."""
    scales: list[tuple[weakref.ref[Tensor], float]] = field(
        default_factory=lambda: list["tuple[weakref.ref[Tensor], float]"]()
    )
    """Weights out of scale before the first step."""


class Initialisation(Adviser):
    """Looks at weights before the first steps."""

    filter = RULE.filter

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._starts: weakref.WeakKeyDictionary[Any, _Start] = weakref.WeakKeyDictionary()

    def close(self) -> None:
        """Forget the weights."""
        self._starts.clear()

    def update_starts(self, update: Update) -> None:
        """Look at the weights and their gradients."""
        start = self._starts.get(update.optimizer)
        if start is None:
            start = self._starts[update.optimizer] = _Start()
            if not update.optimizer.state:
                self._measure(start, update.parameters)
        start.looks += 1
        if start.looks <= _LOOKS:
            self._compare(start, update.parameters)
        elif start.looks == _LOOKS + 1:
            self._judge(start, update)

    def _measure(self, start: _Start, parameters: list[Tensor]) -> None:
        weights = [p for p in parameters if _is_readable(p) and p.dim() >= 2 and len(p)]
        weights = [p for p in weights if p[0].numel() >= _LEAST_FAN_IN]
        if not weights:
            return
        spreads = [_spread(p.detach()) * math.sqrt(p[0].numel()) for p in weights]
        refs = [weakref.ref(p) for p in weights]

        def then(numbers: list[float]) -> None:
            start.scales = [
                (ref, x) for ref, x in zip(refs, numbers) if x > _TOO_LARGE or 0 < x < _TOO_SMALL
            ]

        if len({p.device for p in weights}) == 1:
            self.training.readout.read(torch.stack(spreads), then)

    def _compare(self, start: _Start, parameters: list[Tensor]) -> None:
        """Count the weights whose units are all alike and get the same gradient."""
        weights: list[Tensor] = []
        for p in parameters:
            if not _is_readable(p) or p.dim() < 2 or p.shape[0] < 2:
                continue
            if not p.is_cpu or bool((p[0] == p[1]).all()):  # mostly two rows settle it
                weights.append(p)
        if not weights or len({p.device for p in weights}) > 1:
            return
        alike = [_rows_agree(p) & _rows_agree(p.grad) for p in weights]  # type: ignore[arg-type]
        values = [_only_value(p) for p in weights]
        refs = [weakref.ref(p) for p in weights]

        def then(numbers: list[float]) -> None:
            for ref, is_alike, value in zip(refs, numbers, numbers[len(refs) :]):
                p = ref()
                if p is not None and is_alike:
                    _, times, first = start.copies.get(id(p), (ref, 0, value))
                    start.copies[id(p)] = (ref, times + 1, first)

        self.training.readout.read(torch.stack([x.float() for x in (*alike, *values)]), then)

    def _judge(self, start: _Start, update: Update) -> None:
        copies = [(ref(), x) for ref, times, x in start.copies.values() if times == _LOOKS]
        alive = [(p, x) for p, x in copies if p is not None]
        scales = [(p, x) for ref, x in start.scales if (p := ref()) is not None]
        start.copies.clear()
        start.scales = []
        if alive:
            self._tell_copies(alive, update)
        elif len(scales) >= _LAYERS:
            self._tell_scales(scales, update)

    def _tell_copies(self, weights: list[tuple[Tensor, float]], update: Update) -> None:
        assert update.frame is not None
        weight, value = weights[0]
        named = self.training.names.of(weight, update.frame)
        name = named.name if named is not None else "a weight"
        more = f", as in {len(weights) - 1} more weights" if len(weights) > 1 else ""
        self.tell(
            RULE,
            update.frame,
            f"all {weight.shape[0]} rows of {name} are equal and get equal gradients{more}: "
            "these units stay copies of each other, however long it trains",
            headline=f"Units of {name} are copies",
            op="step",
            phase="update",
            origin=filling_line(weight, named, value, update.frame)
            or making_line(named, update.frame),
            module=named.module_name if named is not None else None,
            tensor=weight.detach(),
            suggestions=(
                Suggestion(
                    title="initialise the weights at random",
                    why="nn.init.kaiming_normal_(w, nonlinearity='relu') before ReLU, "
                    "nn.init.xavier_uniform_(w) before tanh; constants are for biases.",
                ),
            ),
        )

    def _tell_scales(self, scales: list[tuple[Tensor, float]], update: Update) -> None:
        assert update.frame is not None
        found: list[tuple[Named, float]] = []
        for p, spread in scales:
            named = self.training.names.of(p, update.frame)
            module = named.module() if named is not None else None
            root = named.root() if named is not None else None
            if named is None or not isinstance(module, (nn.Linear, _ConvNd)) or root is None:
                continue
            if not any(isinstance(inner, _NORMS) for inner in root.modules()):
                found.append((named, spread))
        large = [pair for pair in found if pair[1] > _TOO_LARGE]
        small = [pair for pair in found if pair[1] < _TOO_SMALL]
        told = large if len(large) >= len(small) else small
        if len(told) < _LAYERS:
            return
        named, spread = told[0]
        effect = "activations grow or saturate" if told is large else "signals and gradients vanish"
        self.tell(
            RULE,
            update.frame,
            f"{named.name} and {len(told) - 1} more weights start {spread:.3g} / sqrt(fan-in) "
            f"wide, where about 1.4 keeps the signal's size: {effect} from layer to layer",
            headline=f"Weights start too {'large' if told is large else 'small'}",
            op="step",
            phase="update",
            origin=making_line(named, update.frame),
            module=named.module_name,
            evidence=tuple(f"{n.name}  {x:.3g} / sqrt(fan-in)" for n, x in told[:12]),
            suggestions=(
                Suggestion(
                    title="scale the weights by their fan-in",
                    why="nn.init.kaiming_normal_(w, nonlinearity='relu') before ReLU, "
                    "nn.init.xavier_uniform_(w) before tanh, nn.init.orthogonal_(w) in recurrent "
                    "layers; or leave PyTorch's own.",
                ),
            ),
        )


def _is_readable(p: Tensor) -> bool:
    return p.grad is not None and readable_tensor(p) is p and readable_tensor(p.grad) is p.grad


def _spread(x: Tensor) -> Tensor:
    """Return the standard deviation; exactly 0 for a constant, whose own is rounding."""
    return x.std().float() * (x.amax() != x.amin())


def _rows_agree(x: Tensor) -> Tensor:
    return (x == x[:1]).all()


def _only_value(p: Tensor) -> Tensor:
    """Return what all elements of a row are; NaN if they differ."""
    row = p.detach()[0].flatten()
    return torch.where((row == row[0]).all(), row[0], torch.full_like(row[0], math.nan))
