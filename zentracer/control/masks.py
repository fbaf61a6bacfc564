"""Is an index a mask, which selects elements by their value, or a position?

RUNS IN the training process, when an operation has just made NaN or Inf. ``ratio[total > 0]``
leaves bad elements out; ``logp[labels]`` picks elements whatever they are.
"""

from __future__ import annotations

import ast
from typing import Any, Callable

from zentracer.control.source import Module, call_name, scope_of

ValueOf = Callable[[str], Any]
"""Returns the value that a name has right now, or None."""

_TESTS = frozenset(
    """
    isnan isfinite isinf isneginf isposinf isclose logical_and logical_or logical_not logical_xor
    gt ge lt le eq ne greater less bool where nonzero argwhere flatnonzero
    """.split()
)
_WORDS = ("mask", "valid", "keep", "finite", "nan", "ok")


def is_mask(module: Module, index: ast.AST, value_of: ValueOf, depth: int = 3) -> bool:
    """Return whether ``index`` selects by a condition.

    Args:
        module: The parsed file.
        index: What stands between the square brackets.
        value_of: Looks names up in the running frame.
        depth: How many assignments to follow for names that are not bound yet.
    """
    if isinstance(index, (ast.Compare, ast.BoolOp)):
        return True
    if isinstance(index, ast.UnaryOp):
        return isinstance(index.op, (ast.Invert, ast.Not))
    if isinstance(index, ast.BinOp):
        return isinstance(index.op, (ast.BitAnd, ast.BitOr, ast.BitXor))
    if isinstance(index, ast.Tuple):
        return any(is_mask(module, item, value_of, depth) for item in index.elts)
    if isinstance(index, ast.Call):
        return call_name(index) in _TESTS
    if isinstance(index, ast.Name):
        value = value_of(index.id)
        if value is not None:
            return _is_mask_value(value)
        return _is_bound_to_mask(module, index, value_of, depth)
    if isinstance(index, (ast.Attribute, ast.Subscript)):  # batch.train_mask, batch["mask"]
        return any(word in ast.dump(index).lower() for word in _WORDS)
    return False


def _is_mask_value(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_is_mask_value, value[:8]))
    return value is True or value is False or "bool" in str(getattr(value, "dtype", ""))


def _is_bound_to_mask(module: Module, name: ast.Name, value_of: ValueOf, depth: int) -> bool:
    """Tell by its assignments whether a name that has no value yet will hold a mask."""
    values = [
        node.value
        for node in ast.walk(scope_of(module, name))
        if isinstance(node, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == name.id for t in node.targets)
    ]
    if not values or not depth:
        return True
    return any(is_mask(module, value, value_of, depth - 1) for value in values)
