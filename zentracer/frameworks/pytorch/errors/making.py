"""Which lines made a tensor, and which shapes it had on the way.

RUNS IN the training process, when an exception is explained. The armed watch knows the line of
each autograd node; without it the source is read, and the values that are still alive tell which
name is which tensor.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any, Iterator, Optional

from torch import Tensor

from zentracer.control.source import (
    Module,
    function_node,
    parsed,
    place_of,
    scope_of,
    statement_of,
)
from zentracer.frameworks.pytorch.errors.failure import Failure, Spot
from zentracer.frameworks.pytorch.errors.lookup import found, is_tensor, shape_of, tensors_in
from zentracer.frameworks.pytorch.nodes import saved
from zentracer.frameworks.pytorch.origin import location
from zentracer.frameworks.pytorch.trail import Site
from zentracer.wire.messages import Location

_LONGEST_HISTORY = 6
_DULL = frozenset({"T", "Expand", "AccumulateGrad", "Alias", "Detach", "ToCopy"})


@dataclass(frozen=True)
class Made:
    """The line that bound a name to a tensor."""

    location: Location
    name: str
    statement: Optional[ast.stmt]
    module: Optional[Module]
    spot: Spot

    @property
    def text(self) -> str:
        """The whole statement on one line."""
        if self.module is None or self.statement is None:
            return (self.location.text or "").strip()
        if isinstance(self.statement, (ast.For, ast.AsyncFor, ast.With, ast.AsyncWith)):
            return (self.location.text or "").strip()
        return self.module.text(self.statement)


def made(failure: Failure, x: Tensor) -> Optional[Made]:
    """Return the line that made ``x``, in the nearest user's frame that bound it to a name.

    A function's argument was not made there: then the callers are asked.
    """
    return next(_makings(failure, x), None)


def first_made(failure: Failure, x: Tensor) -> Optional[Made]:
    """Like ``made``, but from the outermost frame that holds ``x``: where the data came from."""
    every = list(_makings(failure, x))
    return every[-1] if every else None


def _makings(failure: Failure, x: Tensor) -> Iterator[Made]:
    if failure.remote is not None:
        return
    for spot in failure.users:
        module = parsed(spot.code.co_filename)
        if module is None:
            continue
        for name, value in list(spot.frame.f_locals.items()):
            if value is x or (type(value) in (list, tuple) and any(x is y for y in value)):
                binding = last_binding(module, spot, name)
                if binding is not None:
                    yield _made(spot, name, binding, module)


def _made(spot: Spot, name: str, binding: ast.AST, module: Module) -> Made:
    line = getattr(binding, "lineno", spot.line)
    where = location(spot.code.co_filename, line, spot.code.co_name)
    return Made(where, name, statement_of(module, binding), module, spot)


def last_binding(module: Module, spot: Spot, name: str) -> Optional[ast.Name]:
    """Return the binding of ``name`` that ran last before ``spot``, as far as lines tell.

    One on the line itself counts only in a loop: it ran in the round before.
    """
    scope = function_node(module, spot.code)
    bindings = [
        node
        for node in ast.walk(scope)
        if isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Store)
        and scope_of(module, node) is scope
    ]
    above = [node for node in bindings if _last_line(module, node) < spot.line]
    if above:
        return max(above, key=lambda node: node.lineno)
    heads = [node for node in bindings if node.lineno <= spot.line and _is_head(module, node)]
    if heads:
        return max(heads, key=lambda node: node.lineno)
    return max(bindings, key=lambda node: node.lineno) if bindings else None


def _last_line(module: Module, node: ast.Name) -> int:
    statement = statement_of(module, node)
    if statement is None or _is_head(module, node):
        return node.lineno
    return statement.end_lineno or node.lineno


def _is_head(module: Module, node: ast.Name) -> bool:
    """Tell whether a ``for`` or ``with`` binds the name: its statement goes on below."""
    kinds = (ast.For, ast.AsyncFor, ast.With, ast.AsyncWith)
    return isinstance(statement_of(module, node), kinds)


def site_location(site: Site) -> Location:
    """Return the location of a position that the watch has noted."""
    return place_of(site.code, site.lasti, site.op).location


def history(failure: Failure, x: Tensor) -> list[str]:
    """Return the operations that led to ``x`` with the shapes they made, oldest first.

    ``input [8, 1, 24, 24]``, ``conv [8, 32, 24, 24]``, ``max_pool2d [8, 32, 6, 6]`` …: read from
    the autograd graph where there is one, else from the names in the source that are still bound.
    """
    steps = _graph_history(x)
    if len(steps) > 1:
        return steps
    return _visible_history(failure, x)


def _graph_history(x: Tensor) -> list[str]:
    node, steps = x.grad_fn, []
    while node is not None and len(steps) < _LONGEST_HISTORY:
        base = node_name(node)
        shapes = output_shapes(node)
        if shapes and base not in _DULL:
            steps.append(f"{_word(base)} {shape_text(shapes[0])}")
        previous, node = node, _main_input(node)
        if node is None:
            given = _saved_input(previous)
            if given is not None:
                steps.append(f"input {shape_text(given)}")
    return steps[::-1]


def node_name(node: Any) -> str:
    """Return ``Sigmoid`` for ``SigmoidBackward0``."""
    return str(node.name()).rpartition("::")[2].partition("Backward")[0]


def output_shapes(node: Any) -> list[tuple[int, ...]]:
    """Return the shapes of what ``node`` made in forward, where torch tells."""
    known = getattr(node, "_input_metadata", None) or ()
    try:
        return [tuple(int(size) for size in x.shape) for x in known if x is not None]
    except (RuntimeError, TypeError):  # symbolic or nested sizes
        return []


def shape_text(shape: tuple[int, ...]) -> str:
    """Return ``[8, 1152]``."""
    return f"[{', '.join(map(str, shape))}]"


def _main_input(node: Any) -> Any:
    """Return the node of the first input that is computed."""
    for following, _ in node.next_functions:
        if following is not None and following.next_functions:
            return following
    return None


def _saved_input(node: Any) -> Optional[tuple[int, ...]]:
    for name in ("input", "self", "mat1"):
        value = saved(node, name)
        if is_tensor(value):
            return shape_of(value)
    return None


_WORDS = {
    "Convolution": "conv", "MaxPool2DWithIndices": "max_pool2d", "MaxPool1D": "max_pool1d",
    "Addmm": "linear", "Mm": "matmul", "Bmm": "matmul", "UnsafeView": "view",
    "ReshapeAlias": "reshape", "NativeBatchNorm": "batch_norm", "NativeLayerNorm": "layer_norm",
    "AvgPool2D": "avg_pool2d", "AdaptiveAvgPool2D": "adaptive_avg_pool2d",
}  # fmt: skip


def _word(base: str) -> str:
    """Return how the operation of a node is called in programs."""
    return _WORDS.get(base) or "".join(
        f"_{letter.lower()}" if letter.isupper() and index else letter.lower()
        for index, letter in enumerate(base)
    )


def _visible_history(failure: Failure, x: Tensor) -> list[str]:
    """Return the shapes of the names in the line that made ``x``, and of ``x``."""
    line = made(failure, x)
    if line is None or line.statement is None or line.module is None:
        return []
    value = getattr(line.statement, "value", None)
    steps: list[str] = []
    for node in ast.walk(value) if isinstance(value, ast.AST) else ():
        if not isinstance(node, (ast.Name, ast.Attribute)):
            continue
        bound = found(node, line.spot.frame)
        text = f"{line.module.text(node)} {shape_text(shape_of(bound))}" if is_tensor(bound) else ""
        if text and bound is not x and text not in steps:
            steps.append(text)
    return [*steps, f"{line.name} {shape_text(shape_of(x))}"] if steps else []


def holders(failure: Failure) -> Iterator[tuple[Spot, str, Tensor]]:
    """Yield the tensors that the user's frames hold in variables, by frame and name."""
    for spot in failure.users:
        for name, value in list(spot.frame.f_locals.items()):
            if type(name) is str and not name.startswith("__"):
                for x in tensors_in(value, depth=2):
                    yield spot, name, x
