"""What the user points at, by a row of the Variables view or by an expression.

RUNS IN the training process, on the stopped thread. Knows all objects on the way to the value, so
that one can be followed when its place gets another one.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, Dict, List, Optional

from zentracer.control.pydevd import shown
from zentracer.tensor_view.evaluate import Refused, value_of
from zentracer.watches import paths
from zentracer.watches.paths import MISSING, Step

_NO_ROW = "`{}` is not shown any more; the program has gone on."


class Pointed:
    """A value and the way to it."""

    def __init__(self, label: str, values: List[Any], steps: List[Step]) -> None:
        self.label = label
        """How the user calls it."""
        self.values = values
        """All objects on the way, the last is the value; the first alone if the way is unknown."""
        self.steps = steps
        """``steps[i]`` leads from ``values[i]`` to ``values[i + 1]``."""

    @property
    def value(self) -> Any:
        """What is pointed at."""
        return self.values[-1]

    def release(self) -> None:
        """Hold nothing any more."""
        self.values = [None]


def by_row(reference: int, name: str) -> Pointed:
    """Return what a row shows.

    Raises:
        Refused: there is no such row; the text is a sentence.
    """
    parent = shown.variable_of(reference)
    row = parent.get_child_variable_named(name) if parent is not None else None
    if row is None:
        raise Refused(_NO_ROW.format(name))
    expression, frame = row.evaluate_name, row.frame
    if expression and isinstance(frame, FrameType):
        way = _way(expression, frame.f_locals, frame.f_globals)
        if way is not None:
            return way
    return Pointed(expression or name, [row.value], [])


def by_expression(expression: str, names: Dict[str, Any], scope: Dict[str, Any]) -> Pointed:
    """Return what an expression evaluates to.

    Raises:
        Refused: it cannot be evaluated; the text is a sentence.
    """
    way = _way(expression, names, scope)
    if way is not None:
        return way
    return Pointed(expression.strip(), [value_of(expression, scope, names)], [])


def _way(expression: str, names: Dict[str, Any], scope: Dict[str, Any]) -> Optional[Pointed]:
    """Return the way along a plain path; None if the expression is more, or leads nowhere."""
    path = paths.parse(expression)
    if path is None:
        return None
    root = names.get(path.name, scope.get(path.name, MISSING))
    values, steps = [root], list(path.steps)
    for reader, argument in steps:
        if values[-1] is MISSING:
            return None
        values.append(reader(values[-1], argument))
    if values[-1] is MISSING:
        return None
    module = sys.modules.get(scope.get("__name__", ""))
    if type(root) in (dict, list) and steps and vars(module or object).get(path.name) is root:
        # Neither can be referred to weakly, but the module that has the variable can.
        values.insert(0, module)
        steps.insert(0, (paths.attribute, path.name))
    return Pointed(expression.strip(), values, steps)
