"""Rows of the Variables view keep the expression that leads to them.

RUNS IN the training process. pydevd knows a shown object by its identity: of several rows that show
the same one, the last is taken for all, be it a row of ``[data]`` or ``locals()``, which is made
anew each time, or one without an expression. Then nothing tells in which place the user saw it.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, Callable


def install(pydevd: Any, notify: Callable[..., None]) -> None:
    """Prefer rows that can be found again; doing it twice changes nothing."""
    variable_class = sys.modules["_pydevd_bundle.pydevd_suspended_frames"]._ObjectVariable
    original = variable_class.__init__
    if hasattr(original, "zentracer_original"):
        return

    def __init__(
        self: Any, py_db: Any, name: Any, value: Any, register_variable: Any,
        is_return_value: bool = False, evaluate_name: Any = None, frame: Any = None,
    ) -> None:  # fmt: skip
        known = register_variable.__self__._variable_reference_to_variable.get(id(value))
        register = register_variable
        if known is not None and known.value is value and not _leads(evaluate_name, frame):
            is_better = _leads(known.evaluate_name, getattr(known, "frame", None))
            register = _ignore if is_better else register_variable
        original(self, py_db, name, value, register, is_return_value, evaluate_name, frame)
        self._register_variable = register_variable

    __init__.zentracer_original = original  # type: ignore[attr-defined]
    variable_class.__init__ = __init__


def _leads(expression: Any, frame: Any) -> bool:
    """Tell whether an expression reads a place; a call makes something new."""
    plain = isinstance(expression, str) and expression[:1] not in ("", "[", "{", "(")
    return plain and "(" not in expression and isinstance(frame, FrameType)


def _ignore(variable: Any) -> None:
    """Leave what is registered."""
