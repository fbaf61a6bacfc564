"""One tensor of a module that is changed as a whole.

RUNS IN the training process.
"""

from __future__ import annotations

from zentracer.frameworks.pytorch.patches.moments import ChangeForgettingState, ChangeKeepingState
from zentracer.frameworks.pytorch.patches.tensor_change import TensorChange


class _Part(TensorChange):
    """Does not look for other names of its memory, which takes a walk through all modules."""

    def _shared(self) -> tuple[str, ...]:
        return ()


class KeepingPart(_Part, ChangeKeepingState):
    """A part whose optimisers go on with what they know."""


class ForgettingPart(_Part, ChangeForgettingState):
    """A part of which optimisers know nothing any more."""
