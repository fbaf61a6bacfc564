"""How the program calls an object.

RUNS IN the training process.
"""

from __future__ import annotations

import types
from typing import Any

from torch import nn

from zentracer.frameworks.pytorch.frames import variables
from zentracer.frameworks.pytorch.modules import named_modules
from zentracer.frameworks.pytorch.patches.tables import held_below, written


def name_of(value: Any, frame: types.FrameType | None) -> str | None:
    """Return the expression by which the code of a frame can reach an object.

    That of a variable, or of a module, parameter or buffer of a model in a variable.
    """
    if frame is None:
        return None
    spaces = (variables(frame), frame.f_globals)
    for space in spaces:
        for name, held in list(space.items()):
            if held is value and not name.startswith("__"):
                return name
    for space in spaces:
        for name, held in list(space.items()):
            if isinstance(held, nn.Module):
                path = _path_in(held, value)
                if path is not None:
                    return written(name, path)
    return None


def _path_in(model: nn.Module, value: Any) -> str | None:
    if isinstance(value, nn.Module):
        return next((path for path, one in named_modules(model) if one is value), None)
    return next((one.path for one in held_below(model) if one.tensor is value), None)
