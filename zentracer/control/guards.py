"""Does the code that follows expect this value to be NaN or infinite?

RUNS IN the training process, when an operation has just made one. ``torch.where(d > 0, n / d, 0)``
divides by zero on purpose: stopping there would be a false alarm. The answer comes from the
syntax tree: a value is guarded if everything that reads it selects, masks or tests it.
"""

from __future__ import annotations

import ast
from typing import Optional

from zentracer.control.source import Module, call_name, scope_of, statement_of

_GUARDS = frozenset(
    """
    where nan_to_num nan_to_num_ masked_fill masked_fill_ masked_select isnan isinf isfinite
    isneginf isposinf nanmean nansum nanmedian nanquantile is_nonzero allclose isclose
    """.split()
)
_BOUNDS = frozenset(["clamp", "clamp_", "clamp_max", "clamp_max_", "clip", "minimum"])
_CARRIERS = (ast.BinOp, ast.UnaryOp, ast.IfExp, ast.keyword, ast.Starred, ast.NamedExpr)


def is_guarded(module: Module, node: ast.AST, *, has_nan: bool) -> bool:
    """Return whether the value of ``node`` only reaches code that expects NaN or Inf in it.

    Args:
        module: The parsed file.
        node: The expression that made the value.
        has_nan: Whether the value holds NaN; a clamp tames infinities only.
    """
    return _flows_into_guard(module, node, has_nan, depth=3)


def _flows_into_guard(module: Module, node: ast.AST, has_nan: bool, depth: int) -> bool:
    child: ast.AST = node
    parent = module.parents.get(child)
    while parent is not None:
        if isinstance(parent, ast.Compare):
            return True
        if isinstance(parent, ast.Attribute):  # (n / d).nan_to_num()
            call = module.parents.get(parent)
            return isinstance(call, ast.Call) and call.func is parent and _guards(call, has_nan)
        if isinstance(parent, ast.Call):
            return child is not parent.func and _guards(parent, has_nan)
        if isinstance(parent, ast.Subscript):
            return child is parent.value and _selects(parent.slice)
        if isinstance(parent, ast.Assign):
            return _assigned_value_is_guarded(module, parent, has_nan, depth)
        if not isinstance(parent, _CARRIERS):
            return False
        child, parent = parent, module.parents.get(parent)
    return False


def _guards(call: ast.Call, has_nan: bool) -> bool:
    name = call_name(call)
    return name in _GUARDS or (name in _BOUNDS and not has_nan)


def _selects(index: ast.expr) -> bool:
    """Tell whether an index may be a mask rather than a position or a slice."""
    if isinstance(index, (ast.Constant, ast.Slice)):
        return False
    if isinstance(index, ast.UnaryOp):
        return isinstance(index.op, ast.Invert)
    if isinstance(index, ast.Tuple):
        return any(_selects(item) for item in index.elts)
    return True


def _assigned_value_is_guarded(
    module: Module, statement: ast.Assign, has_nan: bool, depth: int
) -> bool:
    if not depth or len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
        return False
    name = statement.targets[0].id
    reads = _reads_until_rebound(module, statement, name)
    if not reads:
        return False
    for read in reads:
        if _is_masked_store(module, read):
            return True  # d[m == 0] = 0: from here on the value is clean
        if not _flows_into_guard(module, read, has_nan, depth - 1):
            return False
    return True


def _reads_until_rebound(module: Module, statement: ast.Assign, name: str) -> list[ast.expr]:
    """Return the reads of ``name`` below ``statement`` in its scope, up to where it is rebound."""
    scope = scope_of(module, statement)
    end = statement.end_lineno or statement.lineno
    rebound: Optional[int] = None
    reads: list[ast.expr] = []
    for node in ast.walk(scope):
        if not isinstance(node, ast.Name) or node.id != name or node.lineno <= end:
            continue
        if isinstance(node.ctx, ast.Load):
            reads.append(node)
        else:
            there = statement_of(module, node)
            line = (there.end_lineno or there.lineno) if there is not None else node.lineno
            rebound = line if rebound is None else min(rebound, line)
    kept = [read for read in reads if rebound is None or read.lineno <= rebound]
    return sorted(kept, key=lambda read: (read.lineno, read.col_offset))


def _is_masked_store(module: Module, read: ast.expr) -> bool:
    parent = module.parents.get(read)
    return (
        isinstance(parent, ast.Subscript)
        and isinstance(parent.ctx, ast.Store)
        and _selects(parent.slice)
    )
