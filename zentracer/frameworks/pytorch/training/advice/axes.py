"""Along which axes a function uses a value, as its source shows.

RUNS IN the training process, once for each line that is looked at.
"""

from __future__ import annotations

import ast
import types
from typing import Iterator, Sequence

from torch import Tensor

from zentracer.control.source import Module, call_name, scope_of, statement_of
from zentracer.frameworks.pytorch.frames import variables

_SUMS = frozenset(["sum", "mean"])


def reads_of(module: Module, scope: ast.AST, node: ast.AST) -> Sequence[ast.AST]:
    """Return where the value of ``node`` is used: itself, or the reads of the name it is given."""
    parent = module.parents.get(node)
    if not isinstance(parent, ast.Assign) or parent.value is not node:
        return [node]
    target = parent.targets[0]
    if len(parent.targets) != 1 or not isinstance(target, ast.Name):
        return []
    return reads_after(module, scope, parent, target.id)


def reads_after(module: Module, scope: ast.AST, statement: ast.stmt, name: str) -> list[ast.expr]:
    """Return the reads of ``name`` below ``statement``, up to where it is bound anew."""
    end = statement.end_lineno or statement.lineno
    names = [
        node
        for node in ast.walk(scope)
        if isinstance(node, ast.Name)
        and node.id == name
        and node.lineno > end
        and scope_of(module, node) is scope
    ]
    bound = [_last_line(module, node) for node in names if not isinstance(node.ctx, ast.Load)]
    limit = min(bound, default=None)
    reads: list[ast.expr] = [node for node in names if isinstance(node.ctx, ast.Load)]
    kept = [node for node in reads if limit is None or node.lineno <= limit]
    return sorted(kept, key=lambda node: (node.lineno, node.col_offset))


def reduction(
    module: Module, read: ast.AST, frame: types.FrameType, weights: Tensor
) -> tuple[int, int] | None:
    """Return (axis, line) of the sum over ``weights * values`` that follows ``read``.

    Only if ``values`` can be seen in ``frame`` and has the sizes of ``weights`` in front: weights
    that compete along axis 0 meet values without that axis.
    """
    top, added = _with_trailing_axes(module, read, weights.dim())
    product = module.parents.get(top)
    if not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult):
        return None
    other = product.right if product.left is top else product.left
    dims = weights.dim() + added
    if not _fits(other, frame, weights, dims):
        return None
    scope = scope_of(module, product)
    for used in reads_of(module, scope, product):
        for call in _calls_on(module, used):
            axis = axis_of(call, dims)
            if call_name(call) in _SUMS and axis is not None:
                return axis, call.lineno
    return None


def axis_of(call: ast.Call, dims: int) -> int | None:
    """Return the one axis that ``x.sum(1)`` or ``torch.sum(x, dim=1)`` names, from 0."""
    given = next((k.value for k in call.keywords if k.arg in {"dim", "axis"}), None)
    if given is None:
        is_method = isinstance(call.func, ast.Attribute) and not _is_torch(call.func.value)
        rest = call.args if is_method else call.args[1:]
        given = rest[0] if rest else None
    axis = constant(given)
    return axis % dims if axis is not None and -dims <= axis < dims else None


def constant(node: ast.AST | None) -> int | None:
    """Return the integer that is written there."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = constant(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    return None


def _with_trailing_axes(module: Module, node: ast.AST, dims: int) -> tuple[ast.AST, int]:
    """Climb over ``w[..., None]`` and ``w.unsqueeze(-1)``; return the top, and the axes added."""
    added = 0
    while True:
        parent = module.parents.get(node)
        if isinstance(parent, ast.Subscript) and parent.value is node:
            more = _appended(parent.slice, dims + added)
            if more is None:
                return node, added
            node, added = parent, added + more
            continue
        call = module.parents.get(parent) if isinstance(parent, ast.Attribute) else None
        if not isinstance(call, ast.Call) or call_name(call) != "unsqueeze" or not call.args:
            return node, added
        if constant(call.args[0]) not in {-1, dims + added}:
            return node, added
        node, added = call, added + 1


def _appended(index: ast.AST, dims: int) -> int | None:
    """Return how many axes ``[..., None]`` or ``[:, :, None]`` appends; None for anything else."""
    index = getattr(index, "value", index) if type(index).__name__ == "Index" else index
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    new = [part for part in parts if isinstance(part, ast.Constant) and part.value is None]
    front = parts[: len(parts) - len(new)]
    if not new or any(part in new for part in front):
        return None
    whole = [isinstance(part, ast.Slice) and not (part.lower or part.upper) for part in front]
    if len(front) == 1 and isinstance(front[0], ast.Constant) and front[0].value is ...:
        return len(new)
    return len(new) if all(whole) and len(front) == dims else None


def _fits(node: ast.expr, frame: types.FrameType, weights: Tensor, dims: int) -> bool:
    value = variables(frame).get(node.id) if isinstance(node, ast.Name) else None
    if not isinstance(value, Tensor) or value.dim() != dims:
        return False
    return value.shape[: weights.dim()] == weights.shape


def _calls_on(module: Module, node: ast.AST) -> Iterator[ast.Call]:
    """Yield the call that ``node`` is the receiver or the first argument of."""
    parent = module.parents.get(node)
    if isinstance(parent, ast.Call) and parent.args[:1] == [node]:
        yield parent
    call = module.parents.get(parent) if isinstance(parent, ast.Attribute) else None
    if isinstance(call, ast.Call) and call.func is parent:
        yield call


def _last_line(module: Module, node: ast.AST) -> int:
    statement = statement_of(module, node)
    return (statement.end_lineno or statement.lineno) if statement is not None else 0


def _is_torch(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "torch"
