"""ZenTracer's part in the training process; ``import zentracer`` imports no framework.

RUNS IN the user's training process.
"""

from __future__ import annotations

__version__ = "0.1.0"
