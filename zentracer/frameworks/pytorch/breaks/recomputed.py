"""Whether a checkpoint runs a forward pass again.

RUNS IN the training process, during a backward pass.
"""

from __future__ import annotations

import types

import torch.utils.checkpoint

_CHECKPOINT = torch.utils.checkpoint.__file__


def is_recomputed(frame: types.FrameType | None) -> bool:
    """Tell whether ``frame`` runs on behalf of a checkpoint's second forward pass."""
    while frame is not None:
        if frame.f_code.co_filename == _CHECKPOINT:
            return True
        frame = frame.f_back
    return False
