"""Assignments to parts of tensors and to settings that are numbers, such as a learning rate.

RUNS IN the user's training process, on the stopped thread. Typed into the console or into a value
of the Variables view they are changes like any other; what is assigned to anything else is left to
Python.
"""

from __future__ import annotations

import ast
import sys
import textwrap
from types import FrameType
from typing import Any, Dict, NamedTuple, Optional, Tuple, Union

from zentracer import patches
from zentracer.control.pointed import by_expression
from zentracer.observe.kinds import array_kind
from zentracer.wire.patches import Patch

_RUNNING = (ast.Call, ast.Await, ast.NamedExpr, ast.Yield, ast.YieldFrom)
_NOT_HERE = (ast.Await, ast.NamedExpr, ast.Yield, ast.YieldFrom)
_VALUE = "_zentracer_value"
_AUGMENTED = {ast.Mult: ("scale", "{}"), ast.Add: ("add", "{}"), ast.Sub: ("add", "-({})")}


class Assignment(NamedTuple):
    """One statement that assigns."""

    node: Union[ast.Assign, ast.AugAssign]
    target: ast.expr
    patch: Patch


def assigned(statement: str, frame: FrameType) -> bool:
    """Make the change that a statement is; tell whether it was one.

    Raises:
        Refused: nothing was changed; the text is a sentence.
    """
    assignment = _assignment(statement)
    if assignment is None:
        return False
    target = assignment.target
    if isinstance(target, ast.Subscript) and _is_array(target.value, frame):
        patches.apply(assignment.patch, frame)
        return True
    old = _number_at(target, frame)
    return old is not None and _number_assigned(assignment, old, frame)


def _assignment(statement: str) -> Optional[Assignment]:
    if not any(framework in sys.modules for framework in patches.CHANGERS):
        return None
    try:
        body = ast.parse(textwrap.dedent(statement).strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # Python itself says what is wrong
    if len(body) != 1:
        return None
    node = body[0]
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, op, value = node.targets[0], "set", ast.unparse(node.value)
    elif isinstance(node, ast.AugAssign):
        target = node.target
        op, value = _augmented(node)
    else:
        return None
    return Assignment(node, target, Patch(target=ast.unparse(target), op=op, value=value))


def _number_assigned(assignment: Assignment, old: Any, frame: FrameType) -> bool:
    """Assign to what holds a number; the value is evaluated once, whatever it is.

    Anything but a number is Python's to assign, and so are the errors of the value.
    """
    value_node = assignment.node.value
    if any(isinstance(part, _NOT_HERE) for part in ast.walk(value_node)):
        return False
    names = {**frame.f_globals, **frame.f_locals}
    value = eval(_compiled(ast.Expression(body=value_node), "eval"), names)
    if patches.changer().is_alike(old, value):
        patch = assignment.patch
        patches.apply(patch, frame, _operand(assignment, value, names))
        return True
    names[_VALUE] = value
    assignment.node.value = ast.copy_location(ast.Name(id=_VALUE, ctx=ast.Load()), value_node)
    exec(_compiled(ast.Module(body=[assignment.node], type_ignores=[]), "exec"), names)
    return True


def _operand(assignment: Assignment, value: Any, names: Dict[str, Any]) -> Any:
    """Return what ``assignment.patch.value`` stands for, where the right side is ``value``."""
    node = assignment.node
    if isinstance(node, ast.Assign) or isinstance(node.op, (ast.Add, ast.Mult)):
        return value
    if isinstance(node.op, ast.Sub):
        return -value
    right = ast.Name(id=_VALUE, ctx=ast.Load())
    both = ast.BinOp(left=_loaded(node.target), op=node.op, right=right)
    return eval(_compiled(ast.Expression(body=both), "eval"), {**names, _VALUE: value})


def _compiled(tree: Any, mode: str) -> Any:
    return compile(ast.fix_missing_locations(tree), "<assignment>", mode, dont_inherit=True)


def _number_at(target: ast.expr, frame: FrameType) -> Any:
    """Return the number or numbers that a place holds whose changes are ours; None if none."""
    if not isinstance(target, (ast.Attribute, ast.Subscript)) or _runs(target):
        return None
    try:
        way = by_expression(ast.unparse(target), frame.f_locals, frame.f_globals)
    except Exception:  # whatever is wrong with the target, the assignment itself will say it
        return None
    return way.value if patches.changer().holds_scalar(way) else None


def _runs(node: ast.expr) -> bool:
    """Tell whether an expression calls something, which must not happen twice."""
    return any(isinstance(part, _RUNNING) for part in ast.walk(node))


def _augmented(node: ast.AugAssign) -> Tuple[str, str]:
    value = ast.unparse(node.value)
    known = _AUGMENTED.get(type(node.op))
    if known is not None:
        return known[0], known[1].format(value)
    both = ast.BinOp(left=_loaded(node.target), op=node.op, right=node.value)
    return "set", ast.unparse(ast.fix_missing_locations(both))


def _loaded(target: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(target), mode="eval").body


def _is_array(node: ast.expr, frame: FrameType) -> bool:
    """Tell whether what is indexed is a tensor or an array."""
    if _runs(node):
        return False
    try:
        code = compile(ast.Expression(body=node), "<target>", "eval")
        return bool(array_kind(type(eval(code, frame.f_globals, frame.f_locals))))
    except Exception:  # whatever is wrong with the target, the assignment itself will say it
        return False
