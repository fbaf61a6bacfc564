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
            return target.data_id, _description(target)
    except Unwatchable as why:
        return None, str(why)


def _description(target: Target) -> str:
    x = target.tensor()
    if x is None:
        return f"{target.label} · None for now"
    shape = ", ".join(map(str, x.shape))
    text = f"{target.label} · {str(x.dtype).rpartition('.')[2]}[{shape}]"
    names = names_sharing(x, target, user_frame(sys._getframe(1)))[:_MAX_NAMES]
    return f"{text} · shares memory with {', '.join(names)}" if names else text
