"""ZenTracer's part in the training process; ``import zentracer`` imports no framework.

RUNS IN the user's training process.
"""

from __future__ import annotations

from zentracer.api import log, step

__all__ = ["log", "step"]

__version__ = "0.1.0"
