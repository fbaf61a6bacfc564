"""Changes to tensors, modules and numbers of a running program.

RUNS IN the training process.
"""

from __future__ import annotations

import types
from typing import Any, Sequence

from zentracer.control.pointed import Pointed
from zentracer.frameworks.pytorch.patches import freezing, modular
from zentracer.frameworks.pytorch.patches.moments import ChangeForgettingState, ChangeKeepingState
from zentracer.frameworks.pytorch.patches.named import Named, Setting
from zentracer.frameworks.pytorch.patches.named import named as named
from zentracer.frameworks.pytorch.patches.names import name_of as name_of
from zentracer.frameworks.pytorch.patches.operations import OPERATIONS
from zentracer.frameworks.pytorch.patches.place import place_of
from zentracer.frameworks.pytorch.patches.scalar_values import is_alike as is_alike
from zentracer.frameworks.pytorch.patches.scalars import ScalarChange, scalar_change
from zentracer.frameworks.pytorch.patches.scalars import holds_scalar as holds_scalar
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
    change = _change_for(patch, pointed, more, value, frame)
    if isinstance(pointed, Named):
        change.spelled = pointed.spelled
    return change


def _change_for(
    patch: Patch,
    pointed: Pointed,
    more: Sequence[Any],
    value: Any,
    frame: types.FrameType | None,
) -> Change:
    if patch.op in freezing.OPERATIONS:
        return freezing.freezing(pointed, patch.op, more, frame)
    if patch.op in modular.OPERATIONS:
        return modular.modular(patch, pointed, more, frame)
    if any(array_kind(type(one)) for one in pointed.values):
        if patch.op not in OPERATIONS:
            raise Refused(
                f"A tensor can be changed by {', '.join(OPERATIONS)}, not by `{patch.op}`."
            )
        with unseen():
            place = place_of(pointed, more)
            pointed.release()
        kind = ChangeForgettingState if patch.reset_state else ChangeKeepingState
        return kind(place, patch.op, value, patch.value or "", frame)
    text = patch.value or ""
    if isinstance(pointed, Setting) and not more:
        pointed.release()
        return ScalarChange(pointed.label, pointed.slots, patch.op, value, text)
    return scalar_change(pointed, more, patch.op, value, text)
