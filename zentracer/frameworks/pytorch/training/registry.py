"""Which detector serves which filter.

RUNS IN the training process.
"""

from __future__ import annotations

from zentracer.frameworks.pytorch.training.dead import Dead
from zentracer.frameworks.pytorch.training.detector import Detector
from zentracer.frameworks.pytorch.training.exploding import Exploding
from zentracer.frameworks.pytorch.training.loss_spike import LossSpike
from zentracer.frameworks.pytorch.training.precision import Precision
from zentracer.frameworks.pytorch.training.saturated import Saturated
from zentracer.frameworks.pytorch.training.shape import Shape
from zentracer.frameworks.pytorch.training.stalled.detector import Stalled
from zentracer.frameworks.pytorch.training.vanishing import Vanishing

DETECTORS: dict[str, type[Detector]] = {
    kind.filter.id: kind
    for kind in (
        Exploding,
        LossSpike,
        Dead,
        Precision,
        Saturated,
        Shape,
        Stalled,
        Vanishing,
    )
}  # fmt: skip
"""Filter id -> detector."""


def advisers() -> tuple[type[Detector], ...]:
    """Return what lists mistakes without stopping, while anything is armed."""
    from zentracer.frameworks.pytorch.training.advice import ADVISERS

    return ADVISERS
