"""``non_leaf_grad``: a tensor's ``grad`` is read, but the tensor is the result of an operation.

RUNS IN the training process. Nothing is hooked: when backward starts, the source of the functions
that run says of which variables ``.grad`` is read, and their values are at hand. Each line that
calls backward is looked at a few times.
"""

from __future__ import annotations

import ast
import re
import types
from typing import Any, Iterator

from torch import Tensor

from zentracer.control import edits
from zentracer.control.source import (
    Module,
    Place,
    ancestors,
    call_name,
    function_node,
    matches_op,
    parsed,
    scope_of,
)
from zentracer.frameworks.pytorch.frames import user_frames, variables
from zentracer.frameworks.pytorch.origin import location
from zentracer.frameworks.pytorch.training.advice.adviser import Adviser, Rule
from zentracer.frameworks.pytorch.training.events import Backward, leaves_of
from zentracer.frameworks.pytorch.training.stalled.cutting import resolver
from zentracer.wire.messages import Suggestion

RULE = Rule("non_leaf_grad", "Gradient of a non-leaf")
_LOOKS = 2
"""Times a line that calls backward is looked at."""
_MAX_SITES = 32
_FRAMES = 3
_MAX_LEAVES = 2
_WRITTEN_AS = {
    "tocopy": {"to", "double", "float", "half", "bfloat16", "cuda", "cpu", "type", "type_as"},
    "view": {"view", "reshape", "flatten", "unsqueeze", "squeeze"},
    "unsafeview": {"view", "reshape", "flatten", "matmul"},
    "reshapealias": {"reshape", "flatten"},
    "t": {"t"},
    "clone": {"clone", "contiguous"},
}
_MAKES_LEAVES = frozenset({"requires_grad_", "detach", "Parameter"})
_REQUIRES_GRAD = re.compile(r",\s*requires_grad\s*=\s*True|requires_grad\s*=\s*True\s*,?\s*")


class NonLeafGrad(Adviser):
    """Looks at the variables whose ``grad`` the running functions read."""

    filter = RULE.filter

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._looked: dict[tuple[int, ...], int] = {}

    def close(self) -> None:
        """Forget everything."""
        self._looked.clear()

    def backward_starts(self, run: Backward) -> None:
        """Look at the functions that run."""
        if not run.accumulates or run.frame is None:
            return
        looks = self._looked.get(run.site, 0)
        if looks >= _LOOKS or (not looks and len(self._looked) >= _MAX_SITES):
            return
        self._looked[run.site] = looks + 1
        for user in user_frames(run.frame, _FRAMES):
            if "grad" in user.f_code.co_names:
                for name, value in _read(user):
                    if _is_non_leaf(value):
                        self._tell(name, value, user)

    def _tell(self, name: str, x: Tensor, frame: types.FrameType) -> None:
        node = x.grad_fn
        assert node is not None
        made_by = node.name().split("::")[-1]
        place, value = _made(name, x, frame, made_by)
        leaves = leaves_of([x])
        is_weight = len(leaves) <= _MAX_LEAVES and not any(leaf.grad_fn for leaf in leaves)
        self.tell(
            RULE, frame,
            f"{name}.grad is read, but {name} is no leaf: {made_by} made it; the gradient goes to "
            f"the tensor that it was made of, and {name}.grad stays None",
            headline=f"{name} gets no gradient", op=made_by, phase="backward", origin=place,
            tensor=x.detach(), suggestions=(_suggestion(name, place, value, is_weight),),
        )  # fmt: skip


def _read(frame: types.FrameType) -> Iterator[tuple[str, Any]]:
    """Yield the variables whose ``grad`` is read once this backward pass is done."""
    module = parsed(frame.f_code.co_filename)
    if module is None:
        return
    scope, resolve = function_node(module, frame.f_code), resolver(frame)
    for node in ast.walk(scope):
        if (
            isinstance(node, ast.Attribute)
            and node.attr == "grad"
            and isinstance(node.ctx, ast.Load)
            and isinstance(node.value, (ast.Name, ast.Attribute))
            and scope_of(module, node) is scope
            and _comes_after(module, node, frame.f_lineno)
        ):
            yield module.text(node.value), resolve(node.value)


def _comes_after(module: Module, node: ast.Attribute, line: int) -> bool:
    if node.lineno > line:
        return True
    loops = (a for a in ancestors(module, node) if isinstance(a, (ast.For, ast.While)))
    return any(loop.lineno <= line <= (loop.end_lineno or 0) for loop in loops)


def _is_non_leaf(x: Any) -> bool:
    return (
        isinstance(x, Tensor)
        and x.requires_grad
        and not x.is_leaf
        and not x.retains_grad
        and x.grad_fn is not None
    )


def _made(
    name: str, x: Tensor, frame: types.FrameType, made_by: str
) -> tuple[Place | None, ast.expr | None]:
    """Return the line that bound the tensor to a variable, and the expression."""
    for user in user_frames(frame):
        module = parsed(user.f_code.co_filename)
        if module is None:
            continue
        names = {n for n, value in variables(user).items() if value is x}
        spaces = [(function_node(module, user.f_code), names)]
        spaces.append((module.tree, {n for n, v in list(user.f_globals.items()) if v is x}))
        for scope, held in spaces:
            value = _binding(module, scope, held | ({name} if "." in name else set()), made_by)
            if value is not None:
                return Place(location(user.f_code.co_filename, value.lineno), module, value), value
    return None, None


def _binding(module: Module, scope: ast.AST, names: set[str], made_by: str) -> ast.expr | None:
    """Return the last expression assigned to one of ``names``, at best what ``made_by`` says."""
    found = [
        node
        for node in ast.walk(scope)
        if isinstance(node, ast.Assign)
        and any(module.text(target) in names for target in node.targets)
        and (scope is not module.tree or scope_of(module, node) is scope)
        and call_name(node.value) not in _MAKES_LEAVES
    ]
    base = re.sub(r"Backward\d*$", "", made_by).lower()
    fitting = [node for node in found if _does(node.value, base)]
    chosen = max(fitting or found, key=lambda node: node.lineno, default=None)
    return chosen.value if chosen is not None else None


def _does(expression: ast.expr, base: str) -> bool:
    written = _WRITTEN_AS.get(base, {base})
    return any(
        matches_op(node, base) or call_name(node) in written for node in ast.walk(expression)
    )


def _suggestion(
    name: str, place: Place | None, value: ast.expr | None, is_weight: bool
) -> Suggestion:
    if not is_weight:
        return Suggestion(
            title=f"Call {name}.retain_grad() before backward",
            why="Only leaves keep their gradients; of a result in between it is kept on request.",
        )
    edit = None
    if place is not None and place.module is not None and value is not None:
        text = place.module.text(value)
        plain = _REQUIRES_GRAD.sub("", text)
        if plain != text:
            new = plain if edits.is_tight(value) else f"({plain})"
            edit = edits.replace(place, value, f"{new}.requires_grad_()")
    return Suggestion(
        title=f"Switch requires_grad on last, on what {name} is to be",
        why="The tensor that requires_grad was switched on for has no name any more: what was done "
        "to it afterwards made another one.",
        edit=edit,
    )
