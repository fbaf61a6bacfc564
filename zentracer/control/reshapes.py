"""Whether the source gives an operand its axes of size one on purpose.

RUNS IN the training process, when two operands were broadcast. Reads syntax trees only.
"""

from __future__ import annotations

import ast
from typing import Iterator, Optional

from zentracer.control.source import Module, Place, call_name, scope_of, statement_of

_SHAPING = frozenset(
    """
    unsqueeze unsqueeze_ expand expand_as broadcast_to broadcast_tensors view_as reshape_as outer
    ger meshgrid cdist t t_ transpose permute swapaxes swapdims movedim moveaxis unflatten
    atleast_2d atleast_3d repeat tile rearrange einsum diag_embed expand_dims vmap
    """.split()
)
_SIZES = frozenset(("view", "reshape", "new_zeros", "new_ones", "new_full"))
"""They make an axis of size one where they name it."""
_SPACES = frozenset(("torch", "F", "nn", "functional", "np", "numpy", "jnp"))
_DEPTH = 3
"""Names that are followed to where they were bound."""
_REDUCTIONS = frozenset(("mean", "sum", "nanmean", "nansum"))


def shapes_here(operand: ast.AST) -> bool:
    """Tell whether an expression itself adds an axis: ``x[:, None]``, ``x.unsqueeze(1)`` …"""
    return any(_adds_axis(part) for part in _spine(operand))


def shapes_before(place: Place, operand: ast.AST, depth: int = _DEPTH) -> bool:
    """Tell whether an expression, or what the names in it were last bound to, adds an axis."""
    if place.module is None:
        return False
    for part in _spine(operand):
        if _adds_axis(part):
            return True
        if isinstance(part, (ast.Name, ast.Attribute)) and depth:
            bound = _bound(place.module, part, place.location.line)
            if bound is not None and shapes_before(place, bound, depth - 1):
                return True
    return False


def statement_shapes(place: Place) -> bool:
    """Tell whether anything in the statement adds an axis, where the operand cannot be told."""
    if place.module is None:
        return False
    line = place.location.line
    for node in ast.walk(place.module.tree):
        if not isinstance(node, ast.stmt) or hasattr(node, "body"):
            continue
        if node.lineno <= line <= (node.end_lineno or line):
            return any(_adds_axis(part) for part in ast.walk(node))
    return False


def operands_of(place: Place) -> tuple[Optional[ast.expr], Optional[ast.expr]]:
    """Return the two expressions that are combined: of ``a - b``, ``a.sub(b)``, ``loss(a, b)``."""
    node = place.node
    if isinstance(node, ast.BinOp):
        return node.left, node.right
    if not isinstance(node, ast.Call):
        return None, None
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    is_function = call_name(node).endswith(("loss", "div")) or len(node.args) >= 2
    if isinstance(node.func, ast.Attribute) and not is_function and not _is_space(node.func.value):
        given.insert(0, node.func.value)
    return (given[0], given[1]) if len(given) >= 2 else (None, None)


def is_reduced_to_one(place: Place) -> bool:
    """Tell whether the statement takes the mean or sum of everything that the expression makes."""
    module, node = place.module, place.node
    if module is None or node is None:
        return False
    last = statement_of(module, node)
    current: ast.AST = node
    while current is not last:
        current = module.parents[current]
        if isinstance(current, ast.Call) and call_name(current) in _REDUCTIONS:
            function = current.func
            in_space = isinstance(function, ast.Attribute) and _is_space(function.value)
            if len(current.args) + len(current.keywords) == int(in_space):
                return True
    return False


def bare_squeeze(module: Module, function: ast.AST) -> Optional[ast.Call]:
    """Return the first call of ``squeeze`` in a function that names no axis."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and call_name(node) == "squeeze":
            in_space = isinstance(node.func, ast.Attribute) and _is_space(node.func.value)
            if len(node.args) + len(node.keywords) == int(in_space):
                return node
    return None


def _spine(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what decides the shape of an expression: not the arguments of a model, for example."""
    yield node
    following: list[ast.AST] = []
    if isinstance(node, ast.Subscript):
        following = [node.value]
    elif isinstance(node, ast.BinOp):
        following = [node.left, node.right]
    elif isinstance(node, ast.UnaryOp):
        following = [node.operand]
    elif isinstance(node, ast.IfExp):
        following = [node.body, node.orelse]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        in_space = _is_space(node.func.value)
        following = list(node.args) if in_space else [node.func.value]
    for part in following:
        yield from _spine(part)


def _adds_axis(node: ast.AST) -> bool:
    if isinstance(node, ast.Subscript):
        return any(_is_new_axis(part) for part in _parts(node.slice))
    if isinstance(node, ast.Attribute):
        return node.attr in {"T", "mT", "H", "mH"}
    if not isinstance(node, ast.Call):
        return False
    name = call_name(node)
    if name in _SHAPING:
        return True
    if name in _SIZES and any(_is_one(part) for a in node.args for part in _parts(a)):
        return True
    return any(
        keyword.arg in {"keepdim", "keepdims"}
        and isinstance(keyword.value, ast.Constant)
        and bool(keyword.value.value)
        for keyword in node.keywords
    )


def _parts(node: ast.AST) -> list[ast.AST]:
    return list(node.elts) if isinstance(node, (ast.Tuple, ast.List)) else [node]


def _is_new_axis(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == "newaxis"
    return isinstance(node, ast.Constant) and node.value is None


def _is_one(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value == 1


def _is_space(node: ast.AST) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in _SPACES


def _bound(module: Module, name: ast.AST, line: int) -> Optional[ast.expr]:
    """Return what a name or ``self.name`` was last set to above ``line``, else anywhere."""
    text = module.text(name)
    own_scope = scope_of(module, name)
    found: list[tuple[bool, int, ast.expr]] = []
    for node in ast.walk(module.tree):
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if not any(_target_text(module, target) == text for target in targets):
            continue
        scope = scope_of(module, node)
        if isinstance(name, ast.Attribute) or scope in (own_scope, module.tree):
            is_above = scope is own_scope and node.lineno < line
            found.append((is_above, node.lineno, node.value))
    return max(found, key=lambda entry: entry[:2])[2] if found else None


def _target_text(module: Module, target: ast.expr) -> str:
    return module.text(target) if isinstance(target, (ast.Name, ast.Attribute)) else ""
