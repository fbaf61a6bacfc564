"""Changes to tensors, modules and numbers of a running program.

RUNS IN the training process.
"""

from __future__ import annotations

import types
from typing import Any, Sequence

from zentracer.control.pointed import Pointed
from zentracer.frameworks.pytorch.patches.operations import OPERATIONS
from zentracer.frameworks.pytorch.patches.place import place_of
from zentracer.frameworks.pytorch.patches.tensor_change import TensorChange
from zentracer.frameworks.pytorch.unseen import unseen
from zentracer.observe.kinds import array_kind
from zentracer.patches.change import Change, Refused
from zentracer.wire.patches import Patch


def change_for(
    patch: Patch,
    pointed: Pointed,
    more: Sequence[Any],
    value: Any,
    frame: types.FrameType | None,
) -> Change:
    """Return the change that is asked for.

    Args:
        patch: what is asked for.
        pointed: what ``patch.target`` stands for.
        more: indices of ``patch.slice``.
        value: what ``patch.value`` stands for.
        frame: where the program stands.

    Raises:
        Refused: there is no such change.
    """
    if any(array_kind(type(one)) for one in pointed.values):
        if patch.op not in OPERATIONS:
            raise Refused(
                f"A tensor can be changed by {', '.join(OPERATIONS)}, not by `{patch.op}`."
            )
        with unseen():
            place = place_of(pointed, more)
            pointed.release()
        return TensorChange(place, patch.op, value, patch.value or "", frame)
    kind = type(pointed.value).__name__
    raise Refused(f"`{pointed.label}` is of type {kind}, which cannot be changed here.")
