"""Tells of assignments to attributes of modules, as they happen.

RUNS IN the training process, around ``nn.Module.__setattr__``, while such an attribute is watched.
"""

from __future__ import annotations

import functools
import sys
import types
from typing import Any, Callable

import torch
from torch import nn

from zentracer.frameworks.pytorch.replace import Replacements
from zentracer.frameworks.pytorch.training.module_tap import as_torchs

Assigned = Callable[[nn.Module, str, types.FrameType], None]


class Assignments:
    """One per process.

    Args:
        tell: is called after each assignment; may not raise.
    """

    def __init__(self, tell: Assigned) -> None:
        self._tell = tell
        self._replaced: Replacements | None = None

    def set(self, wanted: bool) -> None:
        """Tell or do not; without, no trace is left."""
        if wanted and self._replaced is None:
            self._replaced = Replacements()
            self._replaced.put(nn.Module, "__setattr__", self._around)
        elif not wanted and self._replaced is not None:
            self._replaced.remove()
            self._replaced = None

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        tell, get_frame = self._tell, sys._getframe

        def __setattr__(self: nn.Module, name: str, value: Any) -> None:
            original(self, name, value)
            if not torch.compiler.is_dynamo_compiling():
                tell(self, name, get_frame(1))

        return as_torchs(functools.wraps(original)(__setattr__), original)
