"""Lines to blame that are not the running one.

RUNS IN the training process, when something is told.
"""

from __future__ import annotations

from torch import nn

from zentracer.control.pydevd.usercode import is_user_code
from zentracer.control.source import Place, attribute_assignment, parsed
from zentracer.frameworks.pytorch.origin import location


def assignment_of(owner: nn.Module, attribute: str) -> Place | None:
    """Return the line of the owner's class that assigns ``self.<attribute>``."""
    for cls in type(owner).__mro__:
        init = cls.__dict__.get("__init__")
        code = getattr(init, "__code__", None)
        if code is None or not is_user_code(code):
            continue
        line = attribute_assignment(code.co_filename, code.co_firstlineno, attribute)
        if line is not None:
            return line_of(code.co_filename, line, f"{cls.__name__}.__init__")
    return None


def line_of(path: str, line: int, function: str) -> Place:
    """Return a whole line as a place."""
    return Place(location(path, line, function), parsed(path), None)
