"""Does the code that follows expect this value to be NaN or infinite?

RUNS IN the training process, when an operation has just made one. ``torch.where(d > 0, n / d, 0)``
divides by zero on purpose: stopping there would be a false alarm. The answer comes from the
syntax tree: a value is guarded if everything that reads it selects, masks or tests it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Optional

from zentracer.control.masks import ValueOf, is_mask
from zentracer.control.source import Module, call_name, scope_of, statement_of

_GUARDS = frozenset(
    """
    where nan_to_num nan_to_num_ masked_fill masked_fill_ masked_select isnan isinf isfinite
    isneginf isposinf nanmean nansum nanmedian nanquantile is_nonzero allclose isclose
    """.split()
)
_BOUNDS = frozenset(["clamp", "clamp_", "clamp_max", "clamp_max_", "clip", "minimum"])
_CARRIERS = (ast.BinOp, ast.UnaryOp, ast.IfExp, ast.keyword, ast.Starred, ast.NamedExpr)


def is_guarded(
    module: Module, node: ast.AST, *, has_nan: bool, value_of: ValueOf = lambda name: None
) -> bool:
    """Return whether the value of ``node`` only reaches code that expects NaN or Inf in it.

    Args:
        module: The parsed file.
        node: The expression that made the value.
        has_nan: Whether the value holds NaN; a clamp tames infinities only.
        value_of: Looks names up in the running frame, to tell a mask from a position.
    """
    return _Flow(module, has_nan, value_of).is_guarded(node, depth=3)


@dataclass(frozen=True)
class _Flow:
    module: Module
    has_nan: bool
    value_of: ValueOf

    def is_guarded(self, node: ast.AST, depth: int) -> bool:
        child: ast.AST = node
        parents = self.module.parents
        parent = parents.get(child)
        while parent is not None:
            if isinstance(parent, ast.Compare):
                return True
            if isinstance(parent, ast.Attribute):  # (n / d).nan_to_num()
                call = parents.get(parent)
                return isinstance(call, ast.Call) and call.func is parent and self._guards(call)
            if isinstance(parent, ast.Call):
                return child is not parent.func and self._guards(parent)
            if isinstance(parent, ast.Subscript):
                return child is parent.value and self._selects(parent)
            if isinstance(parent, ast.Assign):
                return self._is_assigned_to_guarded(parent, depth)
            if not isinstance(parent, _CARRIERS):
                return False
            child, parent = parent, parents.get(parent)
        return False

    def _guards(self, call: ast.Call) -> bool:
        name = call_name(call)
        return name in _GUARDS or (name in _BOUNDS and not self.has_nan)

    def _selects(self, subscript: ast.Subscript) -> bool:
        return is_mask(self.module, subscript.slice, self.value_of)

    def _is_assigned_to_guarded(self, statement: ast.Assign, depth: int) -> bool:
        if (
            not depth
            or len(statement.targets) != 1
            or not isinstance(statement.targets[0], ast.Name)
        ):
            return False
        reads = _reads_until_rebound(self.module, statement, statement.targets[0].id)
        if not reads:
            return False
        for read in reads:
            if self._is_cleaned_by(read):
                return True  # d[m == 0] = 0: from here on the value is clean
            if not self.is_guarded(read, depth - 1):
                return False
        return True

    def _is_cleaned_by(self, read: ast.expr) -> bool:
        """Tell whether the bad elements of a name are overwritten where it is read."""
        parent = self.module.parents.get(read)
        if isinstance(parent, ast.Subscript):
            return isinstance(parent.ctx, ast.Store) and self._selects(parent)
        call = self.module.parents.get(parent) if isinstance(parent, ast.Attribute) else None
        return (
            isinstance(call, ast.Call)
            and call.func is parent
            and call_name(call).endswith("_")
            and self._guards(call)
        )


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
