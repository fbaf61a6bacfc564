"""Whether a data breakpoint is possible, and on what: the answer to ``dataBreakpointInfo``.

RUNS IN the training process, on the stopped thread.
"""

from __future__ import annotations

import sys
from typing import Optional, Tuple

from zentracer.control.pointed import Pointed
from zentracer.frameworks.pytorch.data.resolve import Unwatchable, target_of
from zentracer.frameworks.pytorch.data.sharing import names_sharing
from zentracer.frameworks.pytorch.data.target import Target
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.unseen import unseen

_MAX_NAMES = 3


def info(pointed: Pointed) -> Tuple[Optional[str], str]:
    """Return a data id, and what it watches; None, and why there is none."""
    try:
        with unseen():
            target = target_of(pointed)
            pointed.release()
            if target.source.is_gone:
                return None, (
                    f"`{pointed.label}` is made anew each time it is evaluated, so nothing ever "
                    "writes into it; watch the tensor that it is computed from."
                )
            return target.data_id, _description(target, pointed.label)
    except Unwatchable as why:
        return None, str(why)


def _description(target: Target, label: str) -> str:
    """Say what is watched, by the name that was asked for: others may lie in the same memory."""
    x = target.tensor()
    if x is None:
        return f"{label} · None for now"
    shape = ", ".join(map(str, x.shape))
    text = f"{label} · {str(x.dtype).rpartition('.')[2]}[{shape}]"
    names = names_sharing(x, target, user_frame(sys._getframe(1)))
    others = [name for name in names if name != label][:_MAX_NAMES]
    return f"{text} · shares memory with {', '.join(others)}" if others else text
