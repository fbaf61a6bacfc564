"""What the user points at, by a row of the Variables view or by an expression.

RUNS IN the training process, on the stopped thread. Knows all objects on the way to the value, so
that one can be followed when its place gets another one.
"""

from __future__ import annotations

import ast
from types import FrameType
from typing import Any, Dict, List, Optional, Union

from zentracer.control.pydevd import shown
from zentracer.tensor_view.evaluate import Refused, value_of
from zentracer.watches import paths
from zentracer.watches.paths import MISSING, Step

_OBJECT, _INDEX = "_zentracer_object", "_zentracer_index"
_OUR_SCOPES = "__import__('zentracer.scopes'"
"""What rows of the scopes "Tensors" and "Module" begin with: nothing that a user calls them."""
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
    row = shown.row_of(reference, name)
    if row is None:
        raise Refused(_NO_ROW.format(name))
    expression, frame = row.evaluate_name, row.frame
    if not expression or expression.startswith(_OUR_SCOPES):
        return Pointed(name, [row.value], [])
    if isinstance(frame, FrameType):
        way = _way(expression, frame.f_locals, frame.f_globals)
        if way is not None:
            return way
    return Pointed(expression, [row.value], [])


def by_expression(expression: str, names: Dict[str, Any], scope: Dict[str, Any]) -> Pointed:
    """Return what an expression evaluates to; each part of it is evaluated once.

    Raises:
        Refused: it cannot be evaluated; the text is a sentence.
    """
    way = _way(expression, names, scope)
    if way is not None:
        return way
    text = expression.strip()
    try:
        node: ast.AST = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Pointed(text, [value_of(text, scope, names)], [])  # which says what is wrong
    tail: List[Union[ast.Attribute, ast.Subscript]] = []
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        tail.append(node)
        node = node.value
    values, steps = [value_of(ast.unparse(node), scope, names)], []
    for part in reversed(tail):
        step = _step(part, names, scope)
        here = {**names, _OBJECT: values[-1], _INDEX: step[1]}
        value = step[0](values[-1], step[1])
        if value is MISSING:  # a property, or a container of the user's: no plain path
            how = f".{part.attr}" if isinstance(part, ast.Attribute) else f"[{_INDEX}]"
            value = _read(f"{_OBJECT}{how}", scope, here, ast.unparse(part))
        values.append(value)
        steps.append(step)
    return Pointed(text, values, steps)


def _read(code: str, scope: Dict[str, Any], names: Dict[str, Any], text: str) -> Any:
    try:
        return value_of(code, scope, names)
    except Refused as refused:  # in the user's words
        raise Refused(str(refused).replace(code, text)) from None


def _step(
    node: Union[ast.Attribute, ast.Subscript], names: Dict[str, Any], scope: Dict[str, Any]
) -> Step:
    if isinstance(node, ast.Attribute):
        return paths.attribute, node.attr
    pick = ast.Subscript(value=ast.Name(id=_INDEX, ctx=ast.Load()), slice=node.slice, ctx=node.ctx)
    return paths.item, value_of(ast.unparse(pick), scope, {**names, _INDEX: _Picker()})


class _Picker:
    """Gives back what it is indexed with."""

    def __getitem__(self, index: Any) -> Any:
        return index


def _way(expression: str, names: Dict[str, Any], scope: Dict[str, Any]) -> Optional[Pointed]:
    """Return the way along a plain path; None if the expression is more, or leads nowhere."""
    path = paths.parse(expression)
    if path is None:
        return None
    values = [names.get(path.name, scope.get(path.name, MISSING))]
    for reader, argument in path.steps:
        if values[-1] is MISSING:
            return None
        values.append(reader(values[-1], argument))
    if values[-1] is MISSING:
        return None
    return Pointed(expression.strip(), values, list(path.steps))
