"""The line that gives a weight its first value, or makes the module that has it.

RUNS IN the training process, when something is told. Calls that fill a weight with a constant are
found in the classes of the model and the files of the running functions; nothing is evaluated.
"""

from __future__ import annotations

import ast
import math
import types
from typing import Any, Iterator

from torch import Tensor, nn

from zentracer.control.source import (
    Module,
    Place,
    binding_line,
    call_name,
    function_node,
    parsed,
    place_of_node,
    scope_of,
)
from zentracer.frameworks.pytorch.frames import user_frames, variables
from zentracer.frameworks.pytorch.training.advice.places import assignment_of, line_of
from zentracer.frameworks.pytorch.training.initial import classes_of, files_of, is_method, target_of
from zentracer.frameworks.pytorch.training.names import Named

_FILLS: dict[str, float | None] = {
    "constant_": None, "fill_": None, "zeros_": 0.0, "zero_": 0.0, "ones_": 1.0,
}  # fmt: skip
"""Calls that fill a tensor, and with what; None: with their last argument."""
_LISTS = frozenset(["parameters", "named_parameters"])


def filling_line(
    parameter: Tensor, named: Named | None, value: float, frame: types.FrameType | None
) -> Place | None:
    """Return the one line that can have filled ``parameter`` with a constant.

    What names the weight itself comes first, then what may mean it: in the classes of the model,
    in the running functions, in their files.

    Args:
        parameter: the weight.
        named: where it lives.
        value: what all of its elements were at first; NaN if they were not all the same.
        frame: where the program stands.
    """
    root = named.root() if named is not None else None
    if named is None or root is None or math.isnan(value):
        return None
    running = _running(frame)
    tiers: list[dict[ast.Call, tuple[str, Module]]] = [{}, {}, {}, {}]
    for tier, trees in ((1, classes_of(root)), (3, files_of(root, frame))):
        for path, module, tree in trees:
            for call in ast.walk(tree):
                if not isinstance(call, ast.Call) or not _fills(call, value):
                    continue
                target = _without_data(target_of(call))
                values = _stands_for(path, module, target, root, frame) if target else None
                if values is not None:
                    if any(x is parameter for x in values):
                        tiers[0][call] = (path, module)
                elif _may_be(module, call, target, named.attribute):
                    is_near = scope_of(module, call) in running
                    tiers[2 if tier == 3 and is_near else tier][call] = (path, module)
    found = next(filter(None, tiers), {})
    if len(found) != 1:
        return None
    ((call, (path, module)),) = found.items()
    return place_of_node(path, module, call)


def _running(frame: types.FrameType | None) -> set[ast.AST]:
    """Return the functions that are running."""
    found: set[ast.AST] = set()
    for user in user_frames(frame):
        module = parsed(user.f_code.co_filename)
        if module is not None:
            found.add(function_node(module, user.f_code))
    return found


def making_line(named: Named | None, frame: types.FrameType | None) -> Place | None:
    """Return the line that makes the module of a parameter: in a class, or in a running function.

    A weight of the user's own module is made where the module assigns it.
    """
    root, module = (named.root(), named.module()) if named is not None else (None, None)
    if named is None or root is None or module is None:
        return None
    place = assignment_of(module, named.attribute)
    if place is not None:
        return place
    for owner in root.modules():
        for attribute, child in owner._modules.items():
            if child is module or (child is not None and module in child.children()):
                place = assignment_of(owner, attribute)
                if place is not None:
                    return place
    return _bound(root, frame)


def _bound(root: nn.Module, frame: types.FrameType | None) -> Place | None:
    """Return the line that bound the variable of a model, outermost function first."""
    for user in reversed(user_frames(frame)):
        module = parsed(user.f_code.co_filename)
        if module is None:
            continue
        scope = function_node(module, user.f_code)
        for name, local in variables(user).items():
            line = binding_line(module, scope, name, user.f_lineno) if local is root else None
            if line is not None:
                return line_of(user.f_code.co_filename, line, user.f_code.co_name)
    return None


def _fills(call: ast.Call, value: float) -> bool:
    """Tell whether ``call`` is one that fills a tensor, as far as is written, with ``value``."""
    name = call_name(call)
    if name not in _FILLS:
        return False
    written = _FILLS[name]
    if written is None:
        index = 0 if is_method(call) else 1
        nodes = [k.value for k in call.keywords if k.arg in {"val", "value"}]
        nodes += call.args[index : index + 1]
        try:
            number: Any = ast.literal_eval(nodes[0]) if nodes else None
        except ValueError:
            return True  # a variable; it may be
        if not isinstance(number, (int, float)):
            return False
        written = float(number)
    return math.isclose(written, value, rel_tol=1e-2, abs_tol=1e-30)  # weights may be in bfloat16


def _without_data(node: ast.expr | None) -> ast.expr | None:
    """Return ``w`` of ``w.data``."""
    return node.value if isinstance(node, ast.Attribute) and node.attr == "data" else node


def _may_be(module: Module, call: ast.Call, target: ast.expr | None, attribute: str) -> bool:
    """Tell whether the target of a call may be the weight: ``m.weight``, or ``p`` of a loop."""
    if isinstance(target, ast.Attribute):
        return target.attr == attribute
    if not isinstance(target, ast.Name):
        return False
    if not is_method(call):
        return True  # functions of nn.init are for parameters
    return any(
        isinstance(loop, ast.For) and _binds(loop.target, target.id) and _lists_parameters(loop)
        for loop in ast.walk(scope_of(module, call))
    )


def _lists_parameters(loop: ast.For) -> bool:
    return any(call_name(node) in _LISTS for node in ast.walk(loop.iter))


def _binds(node: ast.AST, name: str) -> bool:
    return any(isinstance(inner, ast.Name) and inner.id == name for inner in ast.walk(node))


# -- what an expression stands for --------------------------------------------------------------


def _stands_for(
    path: str, module: Module, node: ast.expr, root: nn.Module, frame: types.FrameType | None
) -> list[Any] | None:
    """Return what ``net[0].weight`` can be; None if that cannot be told."""
    steps: list[Any] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            steps.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Subscript) and (index := _index(node.slice)) is not None:
            steps.append(index)
            node = node.value
        else:
            return None
    values = list(_values_of(path, module, node, root, frame))
    for step in reversed(steps):
        values = [inner for value in values for inner in _inside(value, step)]
    return values or None


def _values_of(
    path: str, module: Module, name: ast.Name, root: nn.Module, frame: types.FrameType | None
) -> Iterator[Any]:
    """Yield what a name stands for: a variable that is bound once, or ``self`` of a class."""
    scope = scope_of(module, name)
    if any(_binds_anew(node, name.id) for node in ast.walk(scope)):
        return
    for user in user_frames(frame):
        if user.f_code.co_filename != path:
            continue
        if function_node(module, user.f_code) is scope:
            space = variables(user)
            if name.id in space:
                yield space[name.id]
                return
    holder = module.parents.get(scope)
    if name.id == "self" and isinstance(holder, ast.ClassDef):
        for inner in root.modules():
            if any(_is_made_from(cls, path, holder) for cls in type(inner).__mro__):
                yield inner


def _is_made_from(cls: type, path: str, node: ast.ClassDef) -> bool:
    codes = [getattr(method, "__code__", None) for method in vars(cls).values()]
    return cls.__name__ == node.name and any(
        code.co_filename == path and node.lineno <= code.co_firstlineno <= (node.end_lineno or 0)
        for code in codes
        if isinstance(code, types.CodeType)
    )


def _binds_anew(node: ast.AST, name: str) -> bool:
    """Tell whether a loop binds a name, which then stands for its last turn only."""
    return isinstance(node, (ast.For, ast.comprehension)) and _binds(node.target, name)


def _index(node: ast.AST) -> int | None:
    node = getattr(node, "value", node) if type(node).__name__ == "Index" else node  # Python 3.8
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _index(node.operand)
        return -inner if inner is not None else None
    is_integer = isinstance(node, ast.Constant) and type(node.value) is int
    return node.value if is_integer else None  # type: ignore[attr-defined, no-any-return]


def _inside(value: Any, step: Any) -> Iterator[Any]:
    if not isinstance(value, nn.Module):
        return
    if isinstance(step, int):
        children = list(value._modules.values())
        if -len(children) <= step < len(children):
            yield children[step]
        return
    for space in (value._modules, value._parameters, value.__dict__):
        if step in space:
            yield space[step]
            return
