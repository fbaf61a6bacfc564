"""What the user's source says about the instruction that runs.

RUNS IN the training process, only when there is something to report. Reads source files and
their syntax trees; never evaluates anything.
"""

from __future__ import annotations

import ast
import functools
import linecache
import sys
import types
from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Optional, Union

from zentracer.wire.messages import Location

Operation = Union[ast.expr, ast.AugAssign]


@dataclass(frozen=True)
class Module:
    """A parsed source file."""

    lines: tuple[str, ...]
    tree: ast.Module
    parents: dict[ast.AST, ast.AST]

    def text(self, node: ast.AST) -> str:
        """Return the source of ``node`` on one line."""
        first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", None)
        if not first or not last or last > len(self.lines):
            return ""
        raw = [line.encode() for line in self.lines[first - 1 : last]]  # columns count bytes
        raw[-1] = raw[-1][: getattr(node, "end_col_offset", None)]
        raw[0] = raw[0][getattr(node, "col_offset", 0) :]
        return " ".join(b"".join(raw).decode(errors="ignore").split())


@dataclass(frozen=True)
class Place:
    """Where an instruction stands in the source."""

    location: Location
    module: Optional[Module]
    node: Optional[Operation]
    """The expression (or ``x += y``) that the instruction computes, if it can be told."""


def place_of(code: types.CodeType, lasti: int, op: str = "") -> Place:
    """Return the place of instruction ``lasti`` of ``code``.

    Python before 3.11 records lines only; there the expression is the first on the line that
    computes ``op``.
    """
    line, end_line, column, end_column = _position(code, lasti)
    module = parsed(code.co_filename)
    node: Optional[Operation] = None
    if module is not None and line:
        node = _exact_node(module, line, end_line, column, end_column)
        node = node or _node_for_op(module, line, op)
    location = Location(
        path=code.co_filename,
        line=line or code.co_firstlineno,
        column=_characters(module, line, node.col_offset) if node else None,
        end_line=node.end_lineno if node else None,
        end_column=_characters(module, node.end_lineno, node.end_col_offset) if node else None,
        function=code.co_name,
        text=_line_text(code.co_filename, line),
    )
    return Place(location, module, node)


def place_of_node(path: str, module: Module, node: ast.expr) -> Place:
    """Return the place of an expression that was found in the source."""
    scope = scope_of(module, node)
    location = Location(
        path=path,
        line=node.lineno,
        column=_characters(module, node.lineno, node.col_offset),
        end_line=node.end_lineno,
        end_column=_characters(module, node.end_lineno, node.end_col_offset),
        function=getattr(scope, "name", "<module>"),
        text=_line_text(path, node.lineno),
    )
    return Place(location, module, node)


@functools.lru_cache(maxsize=64)
def parsed(path: str) -> Optional[Module]:
    """Return the parsed file at ``path``, or None if it cannot be read as Python."""
    lines = linecache.getlines(path)
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return None
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    return Module(tuple(lines), tree, parents) if lines else None


def ancestors(module: Module, node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parents of ``node``, nearest first."""
    current = module.parents.get(node)
    while current is not None:
        yield current
        current = module.parents.get(current)


def statement_of(module: Module, node: ast.AST) -> Optional[ast.stmt]:
    """Return the statement that contains ``node``."""
    if isinstance(node, ast.stmt):
        return node
    return next((a for a in ancestors(module, node) if isinstance(a, ast.stmt)), None)


def scope_of(module: Module, node: ast.AST) -> ast.AST:
    """Return the function (or the module) whose names ``node`` uses."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    return next((a for a in ancestors(module, node) if isinstance(a, kinds)), module.tree)


def call_name(node: ast.AST) -> str:
    """Return the last part of what a call calls: ``log`` for ``torch.log(x)``."""
    if not isinstance(node, ast.Call):
        return ""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def operands(node: Optional[ast.AST]) -> list[ast.expr]:
    """Return the operands of an expression, in the order torch receives them."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.AugAssign):
        return [node.target, node.value]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.Call):
        arguments: list[ast.expr] = [*node.args, *(keyword.value for keyword in node.keywords)]
        if isinstance(node.func, ast.Attribute) and not _is_namespace(node.func.value):
            arguments.insert(0, node.func.value)
        return arguments
    return []


def binding_line(
    module: Module,
    scope: ast.AST,
    name: str,
    before: int,
    values: Optional[Mapping[str, Any]] = None,
) -> Optional[int]:
    """Return the line that last bound ``name`` in ``scope`` above line ``before``.

    With the ``values`` of the scope's variables, lines under ``if flag:`` or its ``else:`` are
    left out where ``flag`` says that they did not run.
    """
    lines = [
        node.lineno
        for node in ast.walk(scope)
        if isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Store)
        and node.lineno <= before
        and scope_of(module, node) is scope
        and not (values and _is_passed_over(module, node, scope, values))
    ]
    return max(lines) if lines else None


def _is_passed_over(
    module: Module, node: ast.AST, scope: ast.AST, values: Mapping[str, Any]
) -> bool:
    """Tell whether ``node`` is in a branch that a plain variable, true or false, switches off."""
    inner = node
    for parent in ancestors(module, node):
        if parent is scope:
            return False
        if isinstance(parent, ast.If) and inner is not parent.test:
            test, runs_if = parent.test, inner in parent.body
            if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
                test, runs_if = test.operand, not runs_if
            flag = values.get(test.id) if isinstance(test, ast.Name) else None
            if isinstance(flag, bool) and flag != runs_if:
                return True
        inner = parent
    return False


def function_node(module: Module, code: types.CodeType) -> ast.AST:
    """Return the syntax tree of the function that ``code`` was compiled from."""
    for node in ast.walk(module.tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first == code.co_firstlineno:
                return node
    return module.tree


def attribute_assignment(path: str, class_line: int, attribute: str) -> Optional[int]:
    """Return the line in the class at ``class_line`` that assigns ``self.<attribute>``."""
    module = parsed(path)
    if module is None:
        return None
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ClassDef) and node.lineno <= class_line <= (node.end_lineno or 0):
            for inner in ast.walk(node):
                if (
                    isinstance(inner, ast.Attribute)
                    and inner.attr == attribute
                    and isinstance(inner.ctx, ast.Store)
                ):
                    return inner.lineno
    return None


_OPERATORS = {
    ast.Div: "div", ast.Mult: "mul", ast.Add: "add", ast.Sub: "sub", ast.Pow: "pow",
    ast.MatMult: "matmul", ast.FloorDiv: "floor_divide", ast.Mod: "remainder",
}  # fmt: skip


def matches_op(node: ast.AST, op: str) -> bool:
    """Tell whether ``node`` is written as the operation ``op``."""
    if isinstance(node, (ast.BinOp, ast.AugAssign)):
        return _OPERATORS.get(type(node.op)) == op
    return bool(op) and call_name(node).strip("_") == op


def _position(code: types.CodeType, lasti: int) -> tuple[int, Optional[int], int, int]:
    if sys.version_info >= (3, 11):
        for index, position in enumerate(code.co_positions()):
            if index == lasti // 2:
                line, end_line, column, end_column = position
                return line or 0, end_line, column or 0, end_column or 0
        return 0, None, 0, 0
    import dis

    starts = [line for start, line in dis.findlinestarts(code) if start <= lasti]
    return (starts[-1] if starts else code.co_firstlineno), None, 0, 0


def _exact_node(
    module: Module, line: int, end_line: Optional[int], column: int, end_column: int
) -> Optional[Operation]:
    if end_line is None:
        return None
    wanted = (line, end_line, column, end_column)
    for node in ast.walk(module.tree):
        if isinstance(node, (ast.expr, ast.AugAssign)):
            there = (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
            if there == wanted:
                return node
    return None


def _node_for_op(module: Module, line: int, op: str) -> Optional[Operation]:
    """Return the only expression on ``line`` that is written as ``op``, if there is just one."""
    found = [
        node
        for node in ast.walk(module.tree)
        if isinstance(node, (ast.expr, ast.AugAssign))
        and node.lineno <= line <= (node.end_lineno or node.lineno)
        and matches_op(node, op)
    ]
    return found[0] if len(found) == 1 else None


def _is_namespace(node: ast.expr) -> bool:
    """Tell whether ``torch`` in ``torch.log(x)`` is a module rather than a value."""
    if isinstance(node, ast.Attribute):
        return _is_namespace(node.value) and node.attr in {
            "nn", "functional", "special", "linalg", "fft", "ops", "aten",
        }  # fmt: skip
    return isinstance(node, ast.Name) and node.id in {"torch", "F", "nn", "functional", "np"}


def _characters(module: Optional[Module], line: Optional[int], offset: Optional[int]) -> int:
    """Turn a UTF-8 byte offset into a column that counts characters from 1."""
    if module is None or not line or offset is None or line > len(module.lines):
        return 1
    return len(module.lines[line - 1].encode()[:offset].decode(errors="ignore")) + 1


def _line_text(path: str, line: int) -> Optional[str]:
    text = linecache.getline(path, line).rstrip("\r\n")
    return text or None
