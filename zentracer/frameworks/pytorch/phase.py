"""In which phase of a training step an operation runs.

RUNS IN the training process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from zentracer.frameworks.pytorch.plans import Plan

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.watch import Watch


def phase_of(watch: Watch, plan: Plan, modules: list[torch.nn.Module]) -> str:
    """Return in which phase of a training step an operation runs."""
    if watch.backward_depth and getattr(watch.local, "in_backward", 0):
        return "backward"
    loss_module = bool(modules) and isinstance(modules[0], torch.nn.modules.loss._Loss)
    return "loss" if loss_module or plan.is_loss else "forward"
