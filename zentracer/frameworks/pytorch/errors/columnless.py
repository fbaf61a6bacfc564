"""The failing expression of a line where the bytecode has no columns: before Python 3.11.

RUNS IN the training process, when an exception is explained. Instructions of one kind come in the
order in which Python evaluates the expressions, so the second call of the bytecode is the second
call that the source completes.
"""

from __future__ import annotations

import ast
import dis
import types
from typing import Iterator, Optional

from zentracer.control.source import Module, Operation

_CALLS = frozenset({"CALL_FUNCTION", "CALL_METHOD", "CALL_FUNCTION_KW", "CALL_FUNCTION_EX"})
_OPERATORS = {
    "MATRIX_MULTIPLY": ast.MatMult, "ADD": ast.Add, "SUBTRACT": ast.Sub, "MULTIPLY": ast.Mult,
    "TRUE_DIVIDE": ast.Div, "POWER": ast.Pow, "MODULO": ast.Mod, "FLOOR_DIVIDE": ast.FloorDiv,
}  # fmt: skip
_SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def expression_at(
    module: Module, code: types.CodeType, lasti: int, line: int
) -> Optional[Operation]:
    """Return the expression that instruction ``lasti`` of ``code`` computes."""
    statement = _statement(module, line)
    if statement is None or any(isinstance(n, _SCOPES) for n in ast.walk(statement)):
        return None
    last = statement.end_lineno or statement.lineno
    if isinstance(statement, (ast.For, ast.While, ast.If, ast.With)):
        last = statement.body[0].lineno - 1
    here, before, kind = 0, 0, ""
    for instruction in dis.get_instructions(code):
        if instruction.starts_line is not None:
            here = instruction.starts_line
        if instruction.offset == lasti:
            kind = _kind(instruction.opname)
            break
    if not kind:
        return None
    here = 0
    for instruction in dis.get_instructions(code):
        if instruction.starts_line is not None:
            here = instruction.starts_line
        if instruction.offset >= lasti:
            break
        if statement.lineno <= here <= last and _kind(instruction.opname) == kind:
            before += 1
    nodes = [node for node in _evaluated(statement) if _kind_of(node) == kind]
    return nodes[before] if before < len(nodes) else None


def _statement(module: Module, line: int) -> Optional[ast.stmt]:
    """Return the innermost statement that covers ``line``."""
    covering = [
        node
        for node in ast.walk(module.tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return max(covering, key=lambda node: (node.lineno, -(node.end_lineno or 0)), default=None)


def _kind(opname: str) -> str:
    """Return ``call``, ``item`` or the operator of an instruction; empty for all others."""
    if opname in _CALLS:
        return "call"
    if opname in ("BINARY_SUBSCR", "STORE_SUBSCR"):
        return opname
    start, _, rest = opname.partition("_")
    return f"{start}_{rest}" if start in ("BINARY", "INPLACE") and rest in _OPERATORS else ""


def _kind_of(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        return "call"
    if isinstance(node, ast.Subscript):
        return "BINARY_SUBSCR" if isinstance(node.ctx, ast.Load) else "STORE_SUBSCR"
    names = {kind: name for name, kind in _OPERATORS.items()}
    if isinstance(node, ast.BinOp):
        return f"BINARY_{names.get(type(node.op), '')}"
    return f"INPLACE_{names.get(type(node.op), '')}" if isinstance(node, ast.AugAssign) else ""


def _evaluated(node: ast.AST) -> Iterator[Operation]:
    """Yield the expressions of a statement in the order in which they are complete."""
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        children = [node.value, *targets]
    else:
        children = [
            child
            for child in ast.iter_child_nodes(node)
            if not (isinstance(child, ast.stmt) and isinstance(node, ast.stmt))
        ]
    for child in children:
        if child is not None:
            yield from _evaluated(child)
    if isinstance(node, (ast.expr, ast.AugAssign)):
        yield node
