"""Healthy trainings of many kinds: nothing is wrong with any of them.

``ZOO`` maps a name to a function of the number of steps, which returns the loss of every step.
All are small (a step takes a few milliseconds), deterministic, and know nothing of a debugger.
"""

from __future__ import annotations

from tests.programs.zoo import (  # noqa: F401  (each adds programs)
    agents,
    borderline,
    functional,
    generative,
    optimisers,
    recurrent,
    relations,
    transfer,
    transformers,
    vision,
)
from tests.programs.zoo.registry import ZOO, Training

__all__ = ["ZOO", "Training"]
