"""Where a function uses a value that is known by its name, or by its place in a container.

RUNS IN the training process, only when there is something to report. Reads syntax trees; loops
over containers, ``zip`` and ``enumerate``, unpacking and other names for a value are followed.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import FrozenSet, Iterator, Mapping, Optional, Tuple, Union

from zentracer.control.source import Module, ancestors, call_name, operands, scope_of

Path = Tuple[Union[int, str], ...]
"""The keys that lead from what a name holds to the value; empty if it holds the value itself."""
Names = Mapping[str, Path]
"""By the source of an expression, e.g. ``self.weight`` or ``layers``."""

_PRODUCTS = frozenset(
    """
    linear bilinear matmul mm bmm mv dot addmm addmv baddbmm einsum tensordot embedding
    conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
    """.split()
)
"""Calls that apply weights to something."""
_VIEWS = frozenset({"T", "mT", "H", "mH"})
_PASSING_ON = frozenset({"list", "tuple", "reversed", "iter"})


@dataclass(frozen=True)
class Use:
    """An operation with the value among its operands."""

    node: ast.expr
    is_product: bool
    """Whether it applies weights, as ``x @ w`` does."""


def uses_of(module: Module, scope: ast.AST, names: Names) -> list[Use]:
    """Return the operations in ``scope`` on what ``names`` lead to, in the order of lines."""
    found: dict[ast.expr, Use] = {}
    for node, known in _walk(module, scope, dict(names), frozenset(names)):
        if not isinstance(node, (ast.BinOp, ast.Call)):
            continue
        if any(_is_value(module, operand, known) for operand in operands(node)):
            is_product = call_name(node) in _PRODUCTS or (
                isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)
            )
            found[node] = Use(node, is_product)
    return sorted(found.values(), key=lambda use: (use.node.lineno, use.node.col_offset))


def _walk(
    module: Module, node: ast.AST, known: dict[str, Path], given: FrozenSet[str]
) -> Iterator[tuple[ast.AST, Names]]:
    """Yield what lies below ``node`` with what is known of names there.

    Names other than the ``given`` ones are forgotten when they come to stand for something else.
    """
    for child in ast.iter_child_nodes(node):
        there = known
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            own = _bound(module, child)
            there = {text: path for text, path in known.items() if _root(text) not in own}
        elif isinstance(child, ast.Assign):
            path = _path(module, child.value, known)
            if path is not None:
                known.update(_bind(module, child.targets[0], path))
                continue
            yield from _walk(module, child, known, given)
            for text in map(module.text, child.targets):
                if text not in given:
                    known.pop(text, None)
            continue
        elif isinstance(child, ast.For):
            there = {**known, **_iterate(module, child.target, child.iter, known)}
        elif isinstance(child, (ast.ListComp, ast.GeneratorExp)):
            there = dict(known)
            for part in child.generators:
                there.update(_iterate(module, part.target, part.iter, there))
        if there:
            yield child, dict(there)
            yield from _walk(module, child, there, given)


def _bound(module: Module, function: ast.AST) -> set[str]:
    """Return the names that a function has of its own."""
    return {
        node.arg if isinstance(node, ast.arg) else node.id
        for node in ast.walk(function)
        if isinstance(node, ast.arg) or (isinstance(node, ast.Name) and _is_stored(node))
        if any(a is function for a in ancestors(module, node))
        if isinstance(node, ast.arg) or scope_of(module, node) is function
    }


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _root(text: str) -> str:
    return text.split(".")[0].split("[")[0]


def _path(module: Module, node: ast.AST, known: Names) -> Optional[Path]:
    """Return what is left of the way to the value from what ``node`` gives."""
    path = known.get(module.text(node)) if isinstance(node, (ast.Name, ast.Attribute)) else None
    if path is None and isinstance(node, ast.Subscript):
        outer = _path(module, node.value, known)
        key = node.slice
        fits = not isinstance(key, ast.Constant) or (bool(outer) and key.value == outer[0])
        return outer[1:] if outer and fits and not isinstance(key, ast.Slice) else None
    return path


def _is_value(module: Module, node: ast.AST, known: Names) -> bool:
    """Tell whether ``node`` is the value, or a view of it such as ``w.t()``."""
    while True:
        if _path(module, node, known) == ():
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        elif isinstance(node, ast.Subscript) or (
            isinstance(node, ast.Attribute) and node.attr in _VIEWS
        ):
            node = node.value
        else:
            return False


def _bind(module: Module, target: ast.AST, path: Path) -> dict[str, Path]:
    """Return what an assignment of something with ``path`` makes known."""
    if isinstance(target, (ast.Name, ast.Attribute)):
        return {module.text(target): path}
    if isinstance(target, (ast.Tuple, ast.List)) and path:
        first = path[0]
        if isinstance(first, int) and first < len(target.elts):
            return _bind(module, target.elts[first], path[1:])
    return {}


def _iterate(module: Module, target: ast.AST, over: ast.AST, known: Names) -> dict[str, Path]:
    """Return what a loop over ``over`` makes known."""
    path = _path(module, over, known)
    if path:
        return _bind(module, target, path[1:])
    if not isinstance(over, ast.Call):
        return {}
    parts = list(target.elts) if isinstance(target, ast.Tuple) else []
    name = call_name(over)
    if name == "zip" and len(parts) == len(over.args):
        pairs = list(zip(parts, over.args))
    elif name == "enumerate" and len(parts) == 2:
        pairs = list(zip(parts[1:], over.args))
    elif name in _PASSING_ON:
        pairs = [(target, argument) for argument in over.args]
    elif name in {"items", "values"} and isinstance(over.func, ast.Attribute):
        pairs = [(parts[1] if name == "items" and len(parts) == 2 else target, over.func.value)]
    else:
        return {}
    found: dict[str, Path] = {}
    for part, source in pairs:
        found.update(_iterate(module, part, source, known))
    return found
