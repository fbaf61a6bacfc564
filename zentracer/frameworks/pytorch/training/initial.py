"""The line that gives weights their first values.

RUNS IN the training process, when there is something to tell.
"""

from __future__ import annotations

import ast
import inspect
import math
import types
from typing import Any, Iterator

from torch import nn

from zentracer.control import edits
from zentracer.control.pydevd.usercode import is_user_code
from zentracer.control.source import Module, Place, call_name, parsed
from zentracer.frameworks.pytorch.frames import user_frames
from zentracer.frameworks.pytorch.origin import location
from zentracer.frameworks.pytorch.training.candidate import Candidate
from zentracer.wire.messages import TextEdit

HE = ("kaiming_normal_", 'nonlinearity="relu"')
_SPREADS = {"normal_": (2, "std", 1.0), "trunc_normal_": (2, "std", 1.0), "uniform_": (2, "b", 1.0)}
"""Calls that draw weights without regard to their layer: where their width stands among the
arguments, counted from the tensor, its name, and what it is by itself."""
_ALIKE = 1.5
"""Times the spread of the weights that the number on the line may be, to be theirs."""


def glorot(gain: str) -> tuple[str, str]:
    """Return Glorot's initialisation with ``gain``, as ``edit_of`` takes it."""
    return "xavier_normal_", f"gain={gain}"


def edit_of(worst: Candidate, spread: float, method: tuple[str, str]) -> TextEdit | None:
    """Return the edit of the one line that draws the weights without regard to their layer.

    Looked for in the classes of the model, then in the files of the running functions, where the
    line has to name the spread that the weights have.

    Args:
        worst: a parameter that the line initialises.
        spread: the standard deviation of such weights.
        method: a function of ``nn.init`` to call in its place, and its argument.
    """
    named = worst.named
    root = named.root() if named is not None else None
    if named is None or root is None:
        return None
    for trees, needs_number in ((classes_of(root), False), (files_of(root, worst.frame), True)):
        found = {
            call: (path, module)
            for path, module, tree in trees
            for call in ast.walk(tree)
            if isinstance(call, ast.Call) and _draws(module, call, named.attribute)
            if _is_alike(call, spread, needs_number=needs_number)
        }
        if len(found) == 1:
            ((call, (path, module)),) = found.items()
            return _edit(path, module, call, method)
    return None


def classes_of(root: nn.Module) -> Iterator[tuple[str, Module, ast.AST]]:
    """Yield the user's classes that a model consists of."""
    for kind in {type(module) for module in root.modules()}:
        code = getattr(inspect.unwrap(kind.__init__), "__code__", None)
        if not isinstance(code, types.CodeType) or not is_user_code(code):
            continue
        module = parsed(code.co_filename)
        if module is None:
            continue
        line = code.co_firstlineno
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef) and node.lineno <= line <= (node.end_lineno or 0):
                yield code.co_filename, module, node


def files_of(
    root: nn.Module, frame: types.FrameType | None
) -> Iterator[tuple[str, Module, ast.AST]]:
    """Yield the files of a model's classes and of the running functions."""
    paths = {path for path, _, _ in classes_of(root)}
    paths |= {user.f_code.co_filename for user in user_frames(frame)}
    for path in paths:
        module = parsed(path)
        if module is not None:
            yield path, module, module.tree


def _draws(module: Module, call: ast.Call, attribute: str) -> bool:
    target = target_of(call)
    return (
        call_name(call) in _SPREADS
        and target is not None
        and module.text(target).split(".")[-1] == attribute
    )


def target_of(call: ast.Call) -> ast.expr | None:
    """Return what a call draws: ``w`` in ``nn.init.normal_(w)`` and in ``w.data.normal_()``."""
    if is_method(call):
        value = call.func.value if isinstance(call.func, ast.Attribute) else None
        is_data = isinstance(value, ast.Attribute) and value.attr == "data"
        return value.value if is_data and isinstance(value, ast.Attribute) else value
    return call.args[0] if call.args else None


def is_method(call: ast.Call) -> bool:
    """Tell ``w.normal_()`` from ``nn.init.normal_(w)``."""
    holder = call.func.value if isinstance(call.func, ast.Attribute) else None
    name = getattr(holder, "attr", None) or getattr(holder, "id", None)
    return holder is not None and name != "init"


def _is_alike(call: ast.Call, spread: float, *, needs_number: bool) -> bool:
    """Tell whether weights with the standard deviation ``spread`` can come from ``call``."""
    index, name, usual = _SPREADS[call_name(call)]
    written = _number(call, index - is_method(call), name, usual)
    if written is None:
        return not needs_number
    if name == "b":
        low = _number(call, 1 - is_method(call), "a", 0.0)
        written = (written - low) / math.sqrt(12) if low is not None else spread
    return spread / _ALIKE <= abs(written) <= spread * _ALIKE


def _number(call: ast.Call, index: int, name: str, usual: float) -> float | None:
    """Return an argument that is written as a number; None if it is something else."""
    nodes = [keyword.value for keyword in call.keywords if keyword.arg == name]
    nodes += call.args[index : index + 1]
    if not nodes:
        return usual
    try:
        value: Any = ast.literal_eval(nodes[0])
    except ValueError:
        return None
    return float(value) if isinstance(value, (int, float)) else None


def _edit(path: str, module: Module, call: ast.Call, method: tuple[str, str]) -> TextEdit | None:
    target = target_of(call)
    if target is None or not isinstance(call.func, ast.Attribute):
        return None  # a bare function was imported by its name; the other one may not be
    space = f"{_namespace(module)}.init" if is_method(call) else module.text(call.func.value)
    text = f"{space}.{method[0]}({module.text(target)}, {method[1]})"
    return edits.replace(Place(location(path, call.lineno), module, call), call, text)


def _namespace(module: Module) -> str:
    names = {
        alias.asname or alias.name
        for node in ast.walk(module.tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    return "nn" if "nn" in names else "torch.nn"
