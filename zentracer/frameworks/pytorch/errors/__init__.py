"""Explains PyTorch's own exceptions in the terms of the user's source.

RUNS IN the training process, once an exception has stopped the program. Everything is read from
the frames of the traceback and from the source: nothing of the user's runs, no tensor moves to
another device, and only a bounded number of elements is looked at.
"""

from __future__ import annotations

import types
from typing import Callable, Optional

from zentracer.frameworks.pytorch.errors import (
    batch_norm,
    device,
    dtype,
    grads,
    index,
    inplace,
    shape,
    stale,
    state_dict,
)
from zentracer.frameworks.pytorch.errors.explanation import Explanation, hit_of
from zentracer.frameworks.pytorch.errors.failure import Failure, failures
from zentracer.frameworks.pytorch.unseen import unseen
from zentracer.wire.messages import BreakpointHit

Rule = Callable[[Failure], Optional[Explanation]]

_RULES: tuple[Rule, ...] = (
    state_dict.explain,
    inplace.explain,
    stale.explain,
    grads.explain,
    batch_norm.explain,
    device.explain,
    index.explain,
    dtype.explain,
    shape.explain,
)
"""Asked in this order: the first that knows the message explains it."""


def explain(
    error: BaseException,
    traceback: Optional[types.TracebackType] = None,
    rank: Optional[int] = None,
) -> Optional[BreakpointHit]:
    """Return what there is to say about an exception, None if it is not PyTorch's or not known.

    Args:
        error: what stopped the program; its causes and the members of a group count, too.
        traceback: of ``error``, where it is not on the exception yet.
        rank: of this process in a distributed run.
    """
    with unseen():
        for failure in failures(error, traceback):
            for rule in _RULES:
                said = rule(failure)
                if said is not None:
                    return hit_of(failure, said, rank)
    return None
