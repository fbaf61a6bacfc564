"""Changes to whole modules, and to tensors by what their module knows of them.

RUNS IN the training process.
"""

from __future__ import annotations

import types
from typing import Any, Sequence

from torch import Tensor, nn

from zentracer.control.pointed import Pointed
from zentracer.frameworks.pytorch.patches.checkpoint import load_change
from zentracer.frameworks.pytorch.patches.moments import ChangeForgettingState, ChangeKeepingState
from zentracer.frameworks.pytorch.patches.outputs import output_change
from zentracer.frameworks.pytorch.patches.parts import ForgettingPart, KeepingPart
from zentracer.frameworks.pytorch.patches.reinit import reinit_change
from zentracer.patches.change import Change, Refused
from zentracer.wire.patches import Patch

OPERATIONS = ("reinit", "load", "output")


def modular(
    patch: Patch, pointed: Pointed, more: Sequence[Any], frame: types.FrameType | None
) -> Change:
    """Return the change whose operation is one of ``OPERATIONS``.

    Raises:
        Refused: there is no such change.
    """
    if patch.op == "output":
        return output_change(patch.value, pointed, more, frame)
    is_module = isinstance(pointed.value, nn.Module)
    if not is_module and not any(isinstance(value, Tensor) for value in pointed.values):
        kind = type(pointed.value).__name__
        raise Refused(
            f"`{pointed.label}` is of type {kind}; `{patch.op}` is for tensors and modules."
        )
    if is_module and more:
        raise Refused(f"`{pointed.label}` is a module, and is changed as a whole; name a tensor.")
    make = reinit_change if patch.op == "reinit" else load_change
    if patch.reset_state:
        return make(patch.value, pointed, more, frame, ChangeForgettingState, ForgettingPart)
    return make(patch.value, pointed, more, frame, ChangeKeepingState, KeepingPart)
