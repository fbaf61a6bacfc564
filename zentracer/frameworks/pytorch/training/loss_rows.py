"""Which rows of a batch make its loss large.

RUNS IN the training process, before backward releases what the loss function has saved.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from zentracer.frameworks.pytorch.finite import readable_tensor
from zentracer.frameworks.pytorch.nodes import saved

_MAX_NODES = 16
_MAX_ROWS = 1_000_000
_OUTLIER = 10.0
"""Times the median of all rows."""
_SHARE = 0.5
"""Of the whole loss that the largest rows make up, if it is them."""

_ORDINARY = 3.0
"""Times the loss before that half of all rows may have."""


@dataclass(frozen=True)
class Rows:
    """The loss of each row."""

    losses: tuple[float, ...]
    """The largest ones."""
    indices: tuple[int, ...]
    median: float
    share: float
    """Of the whole that the largest ones make up."""
    count: int

    def stand_out(self, ordinary: float) -> bool:
        """Tell whether it is these rows, and all others are as the loss was before.

        Args:
            ordinary: the loss before.
        """
        others_are_ordinary = self.median < _ORDINARY * ordinary
        return (
            others_are_ordinary and self.losses[0] > _OUTLIER * self.median and self.share > _SHARE
        )


def rows_of(root: Any) -> Rows | None:
    """Return the rows of the loss ``root``; None if its graph does not tell what made it."""
    losses = _losses(root)
    if losses is None or losses.numel() < 4 or losses.numel() > _MAX_ROWS:
        return None
    losses = losses.detach().float()
    if not losses.is_cpu or not bool(torch.isfinite(losses).all()):
        return None
    values, indices = losses.topk(min(3, losses.numel()))
    whole = float(losses.sum())
    return Rows(
        tuple(values.tolist()),
        tuple(indices.tolist()),
        float(losses.median()),
        float(values.sum()) / whole if whole > 0 else 0.0,
        losses.numel(),
    )


def _losses(root: Any) -> Tensor | None:
    queue = deque([getattr(root, "grad_fn", None)])
    for _ in range(_MAX_NODES):
        node = queue.popleft() if queue else None
        if node is None:
            break
        function = _FUNCTIONS.get(node.name().split("::")[-1])
        if function is not None:
            given, target = readable_tensor(saved(node, "self")), saved(node, "target")
            if given is not None and isinstance(target, Tensor):
                return _by_row(function(given.detach(), target.detach()))
        queue.extend(following for following, _ in node.next_functions if following is not None)
    return None


def _by_row(losses: Tensor) -> Tensor:
    return losses.flatten(1).mean(1) if losses.dim() > 1 else losses


_FUNCTIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "NllLossBackward0": lambda x, y: F.nll_loss(x, y, reduction="none"),
    "NllLoss2DBackward0": lambda x, y: F.nll_loss(x, y, reduction="none"),
    "MseLossBackward0": lambda x, y: F.mse_loss(x, y, reduction="none"),
    "L1LossBackward0": lambda x, y: F.l1_loss(x, y, reduction="none"),
    "SmoothL1LossBackward0": lambda x, y: F.smooth_l1_loss(x, y, reduction="none"),
    "HuberLossBackward0": lambda x, y: F.huber_loss(x, y, reduction="none"),
    "BinaryCrossEntropyBackward0": lambda x, y: F.binary_cross_entropy(x, y, reduction="none"),
    "BinaryCrossEntropyWithLogitsBackward0": lambda x, y: F.binary_cross_entropy_with_logits(
        x, y, reduction="none"
    ),
}
"""By the node that the loss function makes; each saves ``self`` and ``target``."""
