"""``unnormalised_inputs`` and ``all_zero``: what the first layer of a model is given.

RUNS IN the training process. Of each model the first layer with parameters is looked at, in its
first calls in training; if that is a norm or an embedding, there is nothing to say.
"""

from __future__ import annotations

import sys
import types
import weakref
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd  # type: ignore[attr-defined]

from zentracer.control.source import Place, parsed
from zentracer.frameworks.pytorch.finite import readable_tensor
from zentracer.frameworks.pytorch.modules import qualified_name
from zentracer.frameworks.pytorch.origin import brought_in_by
from zentracer.frameworks.pytorch.training.advice.adviser import Adviser, Rule
from zentracer.frameworks.pytorch.training.advice.running import Run, outermost
from zentracer.frameworks.pytorch.training.detector import Looker
from zentracer.wire.messages import Suggestion

RULE = Rule("unnormalised_inputs", "Inputs not normalised", "info")
ZERO = Rule("all_zero", "All inputs are zero")
_LOOKS = 5
"""Batches that all must say the same."""
_LARGE = 30.0
"""Root mean square from which inputs count as not normalised. Normalised ones have 1 (LeCun et al.
1998, Efficient BackProp, 4.3); images in 0 to 255 have over 100, counts and one-hots below 10."""
_SAMPLE = 65_536
"""Elements of a batch that are read."""
_LEAST = 16
"""Elements of a batch; less may be a single point, such as a boundary."""
_BYTE = 255.0


@dataclass
class _Layer:
    """The first layer of a model."""

    layer: weakref.ref[nn.Module]
    looks: int = 0
    seen: list[list[float]] = field(default_factory=lambda: list[list[float]]())
    """Mean, root mean square, lowest and highest of each batch."""


class Inputs(Adviser):
    """Looks at the inputs of first layers."""

    filter = RULE.filter

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._models: weakref.WeakKeyDictionary[nn.Module, _Layer] = weakref.WeakKeyDictionary()

    def close(self) -> None:
        """Forget the models."""
        self._models.clear()

    def looker(self, module: Any) -> Looker | None:
        """Look at the first layer of each model."""
        if not any(p is not None for p in module._parameters.values()):
            return None
        run = outermost(sys._getframe(1))
        root = run.root if run is not None else module
        known = self._models.get(root)
        if known is None:
            known = self._models[root] = _Layer(weakref.ref(module))
        if known.layer() is not module or known.looks > _LOOKS:
            return None
        return self._look if isinstance(module, (nn.Linear, _ConvNd, nn.RNNBase)) else None

    def _look(
        self, layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any,
        frame: types.FrameType,
    ) -> None:  # fmt: skip
        run = outermost(frame)
        known = self._models.get(run.root) if run is not None else None
        if run is None or known is None or not self.training.with_gradients or not args:
            return
        x = readable_tensor(args[0])
        is_data = x is not None and not args[0].requires_grad  # else: points to differentiate at
        if known.looks == _LOOKS or not is_data:
            known.looks = _LOOKS + 1
            if self.training.modules is not None:
                self.training.modules.look_no_more(layer, self)
            self._judge(layer, known, run, args[0] if is_data else run.input)
            return
        if x is None or x.numel() < _LEAST or not run.root.training:
            return
        known.looks += 1
        sample = x.reshape(-1)[:_SAMPLE].float()
        numbers = torch.stack(
            [sample.mean(), sample.square().mean().sqrt(), sample.min(), sample.max()]
        )
        self.training.readout.read(numbers, known.seen.append)

    def _judge(self, layer: nn.Module, known: _Layer, run: Run, x: Tensor | None) -> None:
        seen, known.seen = known.seen, []
        if len(seen) < _LOOKS:
            return
        name = qualified_name(layer, run.root)
        if all(low == high == 0 for _, _, low, high in seen):
            self._tell_zero(name, len(seen), run, x)
        elif all(rms > _LARGE for _, rms, _, _ in seen):
            self._tell_large(name, seen, run)

    def _tell_large(self, name: str, seen: list[list[float]], run: Run) -> None:
        mean, rms = (sum(row[i] for row in seen) / len(seen) for i in (0, 1))
        low, high = min(row[2] for row in seen), max(row[3] for row in seen)
        std = max(rms**2 - mean**2, 0.0) ** 0.5
        is_bytes = low >= 0 and 100 < high <= _BYTE
        self.tell(
            RULE,
            run.frame,
            f"{name} is given values from {low:.4g} to {high:.4g}, mean {mean:.3g}, standard "
            f"deviation {std:.3g}, where weights are made for mean 0 and 1",
            op=type(run.root).__name__,
            module=name,
            suggestions=(
                Suggestion(
                    title="divide the images by 255, or normalise them"
                    if is_bytes
                    else "subtract the mean and divide by the standard deviation",
                    why="initial weights, learning rates and weight decay fit inputs of mean 0 and "
                    "standard deviation 1; take both from the training data, for each feature or "
                    "channel.",
                ),
            ),
        )

    def _tell_zero(self, name: str, batches: int, run: Run, x: Tensor | None) -> None:
        brought = [brought_in_by(value, run.frame) for value in (x, run.input) if value is not None]
        line = next(filter(None, brought), None)
        self.tell(
            ZERO,
            run.frame,
            f"all values that {name} was given in {batches} batches are 0, so its weights get no "
            "gradient",
            op=type(run.root).__name__,
            origin=Place(line, parsed(line.path), None) if line is not None else None,
            module=name,
            suggestions=(
                Suggestion(
                    title="look at how the batch is made",
                    why="a buffer that is never filled, an integer division or a mask that "
                    "removes everything leaves zeros.",
                ),
            ),
        )
