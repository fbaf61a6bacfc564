"""The line that builds an optimiser, and its learning rate.

RUNS IN the training process, when there is something to tell.
"""

from __future__ import annotations

import ast
import gc
import types
from typing import Any, Iterator

import torch
from torch import Tensor

from zentracer.control import edits
from zentracer.control.source import (
    Module,
    Place,
    binding_line,
    call_name,
    function_node,
    parsed,
    scope_of,
    statement_of,
)
from zentracer.frameworks.pytorch.frames import user_frames
from zentracer.frameworks.pytorch.origin import location
from zentracer.wire.messages import TextEdit

_ADAPTIVE = frozenset({"betas", "rho", "eps", "beta2", "beta2_decay", "etas"})
"""Options of those whose steps do not grow with the gradient."""


def optimizer_of(parameter: Tensor) -> Any:
    """Return a live optimiser that owns ``parameter``; looks through all objects."""
    for candidate in gc.get_objects():
        if issubclass(type(candidate), torch.optim.Optimizer):
            for group in candidate.param_groups:
                if any(other is parameter for other in group["params"]):
                    return candidate
    return None


def rate_of(optimizer: Any, parameter: Tensor | None = None) -> float | None:
    """Return the learning rate in use, of the group of ``parameter`` or the highest."""
    rates: list[float] = []
    for group in getattr(optimizer, "param_groups", ()):
        rate = group.get("lr")
        if not isinstance(rate, (int, float)):
            continue
        if parameter is not None and any(other is parameter for other in group["params"]):
            return float(rate)
        rates.append(float(rate))
    return max(rates, default=None)


def is_adaptive(optimizer: Any) -> bool:
    """Tell whether the size of a step does not grow with that of the gradient, as in Adam."""
    groups = getattr(optimizer, "param_groups", ())
    return any(_ADAPTIVE & group.keys() for group in groups)


def lower_rate(
    optimizer: Any, frame: types.FrameType | None, divisor: float = 10
) -> TextEdit | None:
    """Return the edit that divides the learning rate, where its number is written."""
    built = _construction(optimizer, frame)
    if built is None:
        return None
    path, module, call = built
    node = _rate_argument(call)
    if isinstance(node, ast.Name):
        node = _only_value(module, call, node)
    if not isinstance(node, ast.Constant) or not isinstance(node.value, (int, float)):
        return None
    place = Place(location(path, node.lineno), module, node)
    return edits.replace(place, node, f"{float(node.value) / divisor:.6g}")


def lower_gain(attribute: str, frame: types.FrameType | None) -> TextEdit | None:
    """Return the edit of the one line that initialises ``attribute`` with a gain above 1.

    The gain becomes 0.9, e.g. in ``nn.init.orthogonal_(self.rnn.weight_hh_l0, gain=2.2)``.
    """
    found = [
        (path, module, keyword.value)
        for path, module in _files(frame)
        for call in ast.walk(module.tree)
        if isinstance(call, ast.Call) and call.args
        if module.text(call.args[0]).split(".")[-1] == attribute
        for keyword in call.keywords
        if keyword.arg == "gain" and _is_above_one(keyword.value)
    ]
    if len(found) != 1:
        return None
    path, module, node = found[0]
    return edits.replace(Place(location(path, node.lineno), module, None), node, "0.9")


def construction_place(optimizer: Any, frame: types.FrameType | None) -> Place | None:
    """Return where ``optimizer`` is built, if one line of the user's files can have done it."""
    built = _construction(optimizer, frame)
    if built is None:
        return None
    path, module, call = built
    return Place(location(path, call.lineno), module, call)


def _construction(
    optimizer: Any, frame: types.FrameType | None
) -> tuple[str, Module, ast.Call] | None:
    name, found = type(optimizer).__name__, []
    for path, module in _files(frame):
        found += [
            (path, module, node)
            for node in ast.walk(module.tree)
            if isinstance(node, ast.Call) and call_name(node) == name
        ]
    for holders in (_holders(optimizer, frame), _holding_scopes(optimizer, frame)):
        if len(found) > 1:
            fitting = [
                (path, module, call)
                for path, module, call in found
                if _target(module, call) in holders or scope_of(module, call) in holders
            ]
            found = fitting or found
    return found[0] if len(found) == 1 else None


def _files(frame: types.FrameType | None) -> Iterator[tuple[str, Module]]:
    seen: set[str] = set()
    for user in user_frames(frame):
        path = user.f_code.co_filename
        if path not in seen:
            seen.add(path)
            module = parsed(path)
            if module is not None:
                yield path, module


def _holding_scopes(optimizer: Any, frame: types.FrameType | None) -> set[Any]:
    """Return the functions on the stack in which a variable holds ``optimizer``."""
    found: set[Any] = set()
    for user in user_frames(frame):
        module = parsed(user.f_code.co_filename)
        if module is not None and any(value is optimizer for value in user.f_locals.values()):
            found.add(function_node(module, user.f_code))
    return found


def _holders(optimizer: Any, frame: types.FrameType | None) -> set[Any]:
    """Return the names of the variables that hold ``optimizer``."""
    return {
        name
        for user in user_frames(frame)
        for space in (user.f_locals, user.f_globals)
        for name, value in list(space.items())
        if value is optimizer
    }


def _target(module: Module, call: ast.Call) -> str | None:
    statement = statement_of(module, call)
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    return None


def _is_above_one(node: ast.expr) -> bool:
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, (int, float)) and value > 1


def _rate_argument(call: ast.Call) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == "lr":
            return keyword.value
    return call.args[1] if len(call.args) > 1 else None


def _only_value(module: Module, call: ast.Call, name: ast.Name) -> ast.expr | None:
    """Return what ``name`` is bound to where the optimiser is built."""
    for scope in (scope_of(module, call), module.tree):
        line = binding_line(module, scope, name.id, call.lineno)
        for node in ast.walk(scope) if line is not None else ():
            if isinstance(node, ast.Assign) and node.lineno == line:
                return node.value
    return None
