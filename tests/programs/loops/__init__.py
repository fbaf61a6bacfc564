"""Training loops in the styles that step, epoch, loss and optimiser must be found in.

``LOOPS`` maps a name to a ``Loop``. The libraries are stand-ins, small but with the calls of the
real ones in their order: wrapped optimisers, closures, skipped steps, evaluation in between.
"""

from __future__ import annotations

from tests.programs.loops import (  # noqa: F401  (each adds loops)
    accelerate_like,
    lightning_like,
    plain,
    trainer_like,
)
from tests.programs.loops.record import LOOPS, Loop, Taken

__all__ = ["LOOPS", "Loop", "Taken"]
