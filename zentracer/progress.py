"""Where training is, as far as somebody has seen it.

RUNS IN the training process. Steps are seen while something is armed that counts them, or when the
program says them with ``zentracer.step``.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import FrameType
from typing import Any, Optional


@dataclass(frozen=True)
class Progress:
    """What is known of a run; None for what is not."""

    step: Optional[int] = None
    """Steps completed, which is also the number, from 0, of the step that runs."""
    epoch: Optional[int] = None
    """Passes over the training data that have begun, from 0."""
    loss: Optional[float] = None
    """Value of the last loss that backward was called on."""


def progress(frame: Optional[FrameType] = None) -> Progress:
    """Return what is known now; ``frame`` is where the program stands, which tells the epoch."""
    bootstrap: Any = sys.modules.get("zentracer.bootstrap")
    runtime = getattr(bootstrap, "_runtime", None)
    return runtime.progress(frame) if runtime is not None else Progress()
