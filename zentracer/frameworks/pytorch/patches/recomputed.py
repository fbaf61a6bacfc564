"""Whether part of a forward pass is yet to be computed again, in the backward pass to come.

RUNS IN the training process, inside ``unseen()``. A checkpointed part that does not come out the
same the second time makes backward fail, or its gradients wrong.
"""

from __future__ import annotations

from typing import Any

from torch.utils import checkpoint

from zentracer.frameworks.pytorch.patches.optimizers import instances_of
from zentracer.patches.change import Refused

_FRAME: Any = getattr(checkpoint, "_CheckpointFrame", None)
_NODE: Any = getattr(checkpoint.CheckpointFunction, "_backward_cls", None)
_PENDING = (
    "`{}` was not changed: a checkpointed part of the forward pass is still to be computed again "
    "by backward, and would not come out the same. Change it after the backward pass."
)


def refuse_if_pending(label: str) -> None:
    """Refuse a change to a module while a checkpointed part waits for its backward.

    Raises:
        Refused: one does.
    """
    for one in instances_of(*(kind for kind in (_FRAME, _NODE) if kind is not None)):
        if _is_waiting(one) if type(one) is _FRAME else _has_tensors(one):
            raise Refused(_PENDING.format(label))


def _is_waiting(frame: Any) -> bool:
    """Tell whether a graph still has what is to be computed again."""
    return not frame.is_recomputed and any(one() is not None for one in frame.weak_holders)


def _has_tensors(node: Any) -> bool:
    try:
        return node.saved_tensors is not None
    except RuntimeError:  # backward has been through, and has let them go
        return False
