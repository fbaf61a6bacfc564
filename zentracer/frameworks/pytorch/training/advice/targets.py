"""``class_imbalance``: some classes are seen far more often than others.

RUNS IN the training process. The targets of the first hundred calls of a loss are counted.
"""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from zentracer.frameworks.pytorch.finite import readable_tensor
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.training.advice.adviser import Adviser, Rule
from zentracer.frameworks.pytorch.training.advice.running import site
from zentracer.frameworks.pytorch.training.detector import Handler
from zentracer.wire.messages import Suggestion

RULE = Rule("class_imbalance", "Classes out of balance", "info")
_CALLS = 100
"""Batches that are counted."""
_RATIO = 10
"""Most frequent to rarest class (threshold_imbalance of SageMaker Debugger's ClassImbalance)."""
_MOST_CLASSES = 20
"""Letters and words are out of balance by nature; classes to be told apart are few."""
_ENOUGH = 50
"""Targets for each class before anything is said."""
_MOST_LOSSES = 8
_SEQUENCES = ("View", "UnsafeView", "Reshape", "Transpose", "Permute", "Index", "Select")
"""What a loss over positions of a sequence or an image is given: there imbalance is normal."""


_is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor  # type: ignore[attr-defined]


@dataclass
class _Counts:
    """The targets of one loss."""

    sums: Tensor
    """One count a class, on the device of the targets."""
    calls: int = 0
    told: list[float] | None = None


class Targets(Adviser):
    """Counts the targets of ``cross_entropy``."""

    filter = RULE.filter

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._losses: dict[tuple[int, int], _Counts | None] = {}
        self.glance = self._is_wanted

    def close(self) -> None:
        """Forget the counts."""
        self._losses.clear()

    def ops(self) -> Mapping[Any, Handler]:
        """Ask for the loss."""
        return {F.cross_entropy: self._count}

    def _is_wanted(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any
    ) -> bool:
        if len(args) < 2 or kwargs.get("weight") is not None:
            return False
        x, y = args[0], args[1]
        if type(x) is not Tensor or type(y) is not Tensor or x.grad_fn is None:
            return False
        classes = x.shape[1] if x.dim() == 2 else 0
        if not 2 <= classes <= _MOST_CLASSES or y.dim() != 1 or y.dtype is not torch.int64:
            return False
        return not x.grad_fn.name().startswith(_SEQUENCES)

    def _count(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any,
        frame: types.FrameType,
    ) -> None:  # fmt: skip
        user = user_frame(frame)
        x, y = args[0], args[1]
        if user is None or readable_tensor(x) is not x or _is_wrapped(y):
            return
        key, classes = site(user), x.shape[1]
        if key not in self._losses and len(self._losses) < _MOST_LOSSES:
            self._losses[key] = _Counts(torch.zeros(classes, device=y.device))
        counts = self._losses.get(key)
        if counts is None:
            self.rests = len(self._losses) == _MOST_LOSSES and not any(self._losses.values())
            return
        if counts.told is not None:
            self._losses[key] = None
            self._judge(counts.told, user)
        elif len(counts.sums) != classes or counts.sums.device != y.device:
            self._losses[key] = None
        elif counts.calls < _CALLS:
            counts.calls += 1
            valid = ((y >= 0) & (y < classes)).float()
            counts.sums.scatter_add_(0, y.clamp(0, classes - 1), valid)
            if counts.calls == _CALLS:
                self.training.readout.read(
                    counts.sums, lambda numbers: setattr(counts, "told", numbers)
                )

    def _judge(self, counts: list[float], user: types.FrameType) -> None:
        seen = {label: int(n) for label, n in enumerate(counts) if n}
        total = sum(seen.values())
        if len(seen) < 2 or total < _ENOUGH * len(counts):
            return
        most = max(seen, key=lambda label: seen[label])
        least = min(seen, key=lambda label: seen[label])
        if seen[most] <= _RATIO * seen[least]:
            return
        self.tell(
            RULE,
            user,
            f"of {total:,} targets in {_CALLS} batches, class {most} is {seen[most]:,} "
            f"({seen[most] / total:.0%}) and class {least} is {seen[least]:,} "
            f"({seen[least] / total:.1%}): always answering {most} is right so often",
            op="cross_entropy",
            phase="loss",
            evidence=tuple(f"class {label:>3}  {n:,}" for label, n in sorted(seen.items())),
            suggestions=(
                Suggestion(
                    title="weigh the classes, or draw them evenly",
                    why="cross_entropy(…, weight=total / (classes * counts)) or a "
                    "WeightedRandomSampler; and judge by balanced accuracy rather than accuracy.",
                ),
            ),
        )
