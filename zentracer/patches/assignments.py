"""Assignments to parts of tensors, typed into the console or into a value of the Variables view.

RUNS IN the user's training process, on the stopped thread. They are changes like any other; what
is assigned to anything else is left to Python.
"""

from __future__ import annotations

import ast
import sys
import textwrap
from types import FrameType
from typing import Optional, Tuple

from zentracer import patches
from zentracer.observe.kinds import array_kind
from zentracer.wire.patches import Patch

_RUNNING = (ast.Call, ast.Await, ast.NamedExpr, ast.Yield, ast.YieldFrom)
_AUGMENTED = {ast.Mult: ("scale", "{}"), ast.Add: ("add", "{}"), ast.Sub: ("add", "-({})")}


def patch_in(statement: str, frame: FrameType) -> Optional[Patch]:
    """Return the change that a statement makes; None if it is no assignment to part of a tensor."""
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
    if not isinstance(target, ast.Subscript) or not _is_array(target.value, frame):
        return None
    return Patch(target=ast.unparse(target), op=op, value=value)


def assigned(statement: str, frame: FrameType) -> bool:
    """Make the change that a statement is; tell whether it was one.

    Raises:
        Refused: nothing was changed; the text is a sentence.
    """
    patch = patch_in(statement, frame)
    if patch is None:
        return False
    patches.apply(patch, frame)
    return True


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
    """Tell whether what is indexed is a tensor or an array.

    An expression that calls something is left to Python: it must not be called twice.
    """
    if any(isinstance(part, _RUNNING) for part in ast.walk(node)):
        return False
    try:
        code = compile(ast.Expression(body=node), "<target>", "eval")
        return bool(array_kind(type(eval(code, frame.f_globals, frame.f_locals))))
    except Exception:  # whatever is wrong with the target, the assignment itself will say it
        return False
