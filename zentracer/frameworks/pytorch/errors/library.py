"""The failing call inside PyTorch's own Python code.

RUNS IN the training process, when an exception is explained. Only the one function is parsed:
whole files of PyTorch's have thousands of lines.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import sys
import tokenize
import types
from typing import Optional


def failing_call(code: types.CodeType, lasti: int, line: int) -> Optional[ast.expr]:
    """Return the expression at which ``code`` stands, if it can be told."""
    tree = _function(code.co_filename, code.co_firstlineno)
    if tree is None:
        return None
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.expr)]
    position = _position(code, lasti)
    if position is not None:
        return next((n for n in nodes if _span(n) == position), None)
    calls = [n for n in nodes if isinstance(n, ast.Call) and _covers(n, line)]
    return max(calls, key=_length, default=None)


def _position(code: types.CodeType, lasti: int) -> Optional[tuple[object, ...]]:
    """Return the span of an instruction; before Python 3.11 only lines are known."""
    if sys.version_info < (3, 11):
        return None
    for index, position in enumerate(code.co_positions()):
        if index == lasti // 2:
            return position
    return None


def _span(node: ast.expr) -> tuple[object, ...]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _covers(node: ast.Call, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _length(node: ast.Call) -> tuple[int, int]:
    return (node.end_lineno or node.lineno) - node.lineno, node.end_col_offset or 0


@functools.lru_cache(maxsize=64)
def _function(path: str, first: int) -> Optional[ast.Module]:
    lines = linecache.getlines(path)
    if not 1 <= first <= len(lines):
        return None
    try:
        block = inspect.getblock(lines[first - 1 :])
        # Columns must stay as they are, so an indented function gets something to stand in.
        is_indented = block[0][:1].isspace()
        tree = ast.parse("".join(["if 1:\n", *block] if is_indented else block))
    except (SyntaxError, ValueError, RecursionError, tokenize.TokenError, IndexError):
        return None
    ast.increment_lineno(tree, first - (2 if is_indented else 1))
    return tree
