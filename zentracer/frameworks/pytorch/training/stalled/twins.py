"""Networks that follow another one: a target, a teacher, a copy.

RUNS IN the training process, when there is something to tell.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

from torch import Tensor

from zentracer.frameworks.pytorch.training.events import Update

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.hub import Training


def has_learning_twin(
    training: Training, parameters: list[Tensor], update: Update, frame: types.FrameType
) -> bool:
    """Tell whether each of ``parameters`` has a namesake of its shape, elsewhere, that learns.

    ``target.fc.weight`` has one in ``online.fc.weight``: it is run under ``no_grad`` on purpose,
    and copied from time to time.
    """
    learning: set[tuple[str, tuple[int, ...]]] = set()
    for p in update.parameters:
        named = training.names.of(p, frame) if p.grad is not None else None
        prefix, _, rest = named.name.partition(".") if named is not None else ("", "", "")
        if rest and not prefix.isdigit():
            learning.add((rest, tuple(p.shape)))
    for p in parameters:
        named = training.names.of(p, frame)
        prefix, _, rest = named.name.partition(".") if named is not None else ("", "", "")
        if not rest or prefix.isdigit() or (rest, tuple(p.shape)) not in learning:
            return False
    return bool(parameters)
