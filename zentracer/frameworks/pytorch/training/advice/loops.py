"""The loops around a running line, and how often they turn.

RUNS IN the training process, a few times for each line that is looked at.
"""

from __future__ import annotations

import ast
import types
from dataclasses import dataclass
from typing import Any

from torch.utils.data import DataLoader, IterableDataset

from zentracer.control.source import ancestors, function_node, parsed, place_of
from zentracer.frameworks.pytorch.frames import user_frames, variables

_FRAMES = 4


@dataclass(frozen=True)
class Loop:
    """One ``for`` loop around a line."""

    node: ast.For
    turns: int | None
    """How often it turns; None if that cannot be told."""
    is_each_turn: bool
    """Whether the line runs in each turn, rather than under an ``if`` that may change."""
    turn: int | None = None
    """The number that it counts with, in this turn."""


def loops_around(frame: types.FrameType) -> list[Loop]:
    """Return the loops around the running line and around the calls that led to it, inmost first.

    Ends at the first loop or call that is not understood, such as a ``while``.
    """
    found: list[Loop] = []
    for user in user_frames(frame, limit=_FRAMES):
        module = parsed(user.f_code.co_filename)
        node = place_of(user.f_code, user.f_lasti).node
        if module is None or node is None:
            return found
        scope = function_node(module, user.f_code)
        each = True
        for parent in ancestors(module, node):
            if parent is scope:
                break
            if isinstance(parent, ast.While):
                return found
            is_branch = isinstance(parent, (ast.If, ast.IfExp))
            if isinstance(parent, ast.Try) or (is_branch and not _is_settled(parent.test, user)):
                each = False
            if isinstance(parent, ast.For) and not _is_in_header(module.parents, node, parent):
                found.append(Loop(parent, _turns(parent.iter, user), each, _turn(parent, user)))
                each = True
    return found


def _is_in_header(parents: dict[ast.AST, ast.AST], node: ast.AST, loop: ast.For) -> bool:
    current: ast.AST | None = node
    while current is not None and parents.get(current) is not loop:
        current = parents.get(current)
    return current is loop.iter or current is loop.target


def _is_settled(test: ast.expr, frame: types.FrameType) -> bool:
    """Tell whether a condition is a matter of options, the same in each turn.

    Such as ``if scheduler is not None`` and ``if args.cosine``: flags and texts, no numbers.
    """
    if isinstance(test, ast.BoolOp):
        return all(_is_settled(value, frame) for value in test.values)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _is_settled(test.operand, frame)
    if isinstance(test, ast.Compare):
        sides = [test.left, *test.comparators]
        if any(isinstance(side, ast.Constant) and side.value is None for side in sides):
            plain = (ast.Constant, ast.Name, ast.Attribute)
            return all(isinstance(side, plain) for side in sides) and not _binds_any(test, frame)
        texts = [_value(side, frame) for side in sides]
        return all(type(text) is str for text in texts) and not _binds_any(test, frame)
    return type(_value(test, frame)) is bool and not _binds_any(test, frame)


def _binds_any(test: ast.expr, frame: types.FrameType) -> bool:
    """Tell whether the running function gives a value to a name of ``test`` in a loop."""
    module = parsed(frame.f_code.co_filename)
    if module is None:
        return True
    names = {inner.id for inner in ast.walk(test) if isinstance(inner, ast.Name)}
    names |= {inner.attr for inner in ast.walk(test) if isinstance(inner, ast.Attribute)}
    return any(
        (isinstance(inner, ast.Name) and inner.id in names)
        or (isinstance(inner, ast.Attribute) and inner.attr in names)
        for loop in ast.walk(function_node(module, frame.f_code))
        if isinstance(loop, (ast.For, ast.While))
        for inner in ast.walk(loop)
        if isinstance(getattr(inner, "ctx", None), ast.Store)
    )


def _turn(loop: ast.For, frame: types.FrameType) -> int | None:
    target = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else loop.target
    value = _value(target, frame)
    return value if type(value) is int else None


def _turns(iterated: ast.expr, frame: types.FrameType) -> int | None:
    if isinstance(iterated, ast.Call):
        name = iterated.func.id if isinstance(iterated.func, ast.Name) else ""
        if name == "range":
            values = [_value(argument, frame) for argument in iterated.args]
            if all(type(value) is int for value in values) and 0 < len(values) <= 3:
                return len(range(*values))
            return None
        if name in {"enumerate", "tqdm", "trange"} and iterated.args:
            return _turns(iterated.args[0], frame)
        return None
    value = _value(iterated, frame)
    if isinstance(value, DataLoader) and isinstance(value.dataset, IterableDataset):
        return None
    return len(value) if isinstance(value, (list, tuple, range, DataLoader)) else None


def _value(node: ast.expr, frame: types.FrameType) -> Any:
    """Return what a constant, a name or an attribute of a plain name stands for."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return variables(frame).get(node.id, frame.f_globals.get(node.id))
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        owner = _value(node.value, frame)
        return getattr(owner, "__dict__", {}).get(node.attr)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
        left, right = _value(node.left, frame), _value(node.right, frame)
        if type(left) is int and type(right) is int:
            return {ast.Add: left + right, ast.Sub: left - right, ast.Mult: left * right}[
                type(node.op)
            ]
    return None
