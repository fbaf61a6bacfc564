"""From a module that gets no gradient to the line that cuts it off the loss.

RUNS IN the training process, while a module is under suspicion.
"""

from __future__ import annotations

import ast
import types
from dataclasses import dataclass
from typing import Any, Mapping, Optional

from torch import nn

from zentracer.control.cuts import is_no_grad
from zentracer.control.flow import Cut, Point, follow
from zentracer.control.source import (
    Module,
    Place,
    ancestors,
    call_name,
    parsed,
    place_of,
)
from zentracer.frameworks.pytorch.frames import user_frames, variables
from zentracer.frameworks.pytorch.modules import is_library
from zentracer.frameworks.pytorch.origin import location
from zentracer.frameworks.pytorch.training.advice.words import identifiers, words_of

_CALLERS = 12
_COMPREHENSIONS = frozenset({"<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>"})
_SCHEDULED = frozenset(
    """
    freeze frozen freezes freezing unfreeze warm warmup warming stage phase pretrain pretraining
    pretrained detach detached stop stopgrad train training step steps epoch epochs iteration
    iterations finetune tune update updates grad
    """.split()
)
"""Words in a condition that say that a cut is meant, for as long as it holds."""

Sinks = Mapping[types.CodeType, ast.AST]


@dataclass(frozen=True)
class Start:
    """Where the value of a module, or of its parameter, comes into the user's code."""

    point: Point
    callers: list[Point]
    text: Optional[str] = None
    """How a parameter that is used by itself is written."""


def sinks_of(frame: types.FrameType | None) -> dict[types.CodeType, ast.AST]:
    """Return the calls that are running when backward starts, by the code they are in."""
    found: dict[types.CodeType, ast.AST] = {}
    for point in points_of(frame, "backward"):
        found.setdefault(point.code, point.node)
    return found


def points_of(frame: types.FrameType | None, op: str) -> list[Point]:
    """Return the call that each of the user's frames is in, innermost first.

    Args:
        frame: where to begin.
        op: what the innermost calls; before Python 3.11 it is looked for by name on its line.
    """
    points: list[Point] = []
    node: Optional[ast.AST] = None
    for user in user_frames(frame, _CALLERS):
        inner = user.f_code.co_name in _COMPREHENSIONS
        node = node or _call_at(user, op)
        if inner:  # the function around it is what the source shows
            continue
        if node is None:
            break
        points.append(Point(user.f_code, node, resolver(user)))
        node, op = None, user.f_code.co_name
    return points


def cut_after(
    module: nn.Module, attribute: str, frame: types.FrameType, sinks: Sinks
) -> Optional[Cut]:
    """Return what cuts the result of a call of ``module`` off the loss.

    Args:
        module: has just been called.
        attribute: its parameter that gets no gradient.
        frame: the user's frame that called it.
        sinks: where backward starts.
    """
    points = points_of(frame, type(module).__name__)
    if not points:
        return None
    if is_library(module):
        return follow(points[0], points[1:], sinks)
    forward = getattr(type(module), "forward", None)
    code = getattr(forward, "__code__", None)
    node = _use_of(code, attribute) if code is not None else None
    if code is None or node is None:
        return follow(points[0], points[1:], sinks)
    return follow(Point(code, node, _attributes_of(module)), points, sinks)


def cut_place(cut: Cut) -> Place:
    """Return the line of a cut."""
    node = cut.node
    module = parsed(cut.code_path)
    expression = node if isinstance(node, (ast.expr, ast.AugAssign)) else None
    return Place(location(cut.code_path, cut.line), module, expression)


def is_meant(cut: Cut) -> bool:
    """Tell whether a cut is made for a while, or by a switch that says what it does.

    Only of a cut that is the user's own word: ``detach``, ``no_grad``.
    """
    module = parsed(cut.code_path)
    if module is None or not cut.is_explicit:
        return False
    tests = [
        parent.test
        for parent in ancestors(module, cut.node)
        if isinstance(parent, (ast.If, ast.IfExp))
    ]
    if isinstance(cut.node, (ast.With, ast.AsyncWith)):
        for item in cut.node.items:
            call = item.context_expr
            if is_no_grad(call) == "set_grad_enabled" and isinstance(call, ast.Call):
                tests += call.args
    return any(is_schedule(test) for test in tests)


def reset_before_step(frame: types.FrameType) -> Optional[Place]:
    """Return the ``zero_grad`` between the last ``backward`` and the ``step`` that runs."""
    for user in user_frames(frame, 4):
        module = parsed(user.f_code.co_filename)
        call = _call_at(user, "step")
        if module is None or call is None:
            continue
        block = _block_of(module, call)
        after_backward: Optional[ast.AST] = None
        is_after = False
        for statement in block:
            calls = {call_name(n): n for n in ast.walk(statement) if isinstance(n, ast.Call)}
            if any(inner is call for inner in ast.walk(statement)):
                break
            if "backward" in calls:
                after_backward, is_after = None, True
            elif "zero_grad" in calls and is_after:
                after_backward = calls["zero_grad"]
        if after_backward is not None:
            line = getattr(after_backward, "lineno", 0)
            node = after_backward if isinstance(after_backward, ast.expr) else None
            return Place(location(user.f_code.co_filename, line), module, node)
    return None


def _block_of(module: Module, call: ast.AST) -> list[ast.stmt]:
    """Return the statements of the innermost loop or function around ``call``, in their order."""
    for parent in ancestors(module, call):
        if isinstance(parent, (ast.For, ast.While, ast.FunctionDef, ast.AsyncFunctionDef)):
            return parent.body
    return module.tree.body


def is_schedule(test: ast.expr) -> bool:
    """Tell whether a condition may change in the course of a training, or says what it is for."""
    if any(isinstance(node, ast.Compare) for node in ast.walk(test)):
        return True
    return any(words_of(name) & _SCHEDULED for name in identifiers(test))


def _call_at(frame: types.FrameType, op: str) -> Optional[ast.AST]:
    place = place_of(frame.f_code, frame.f_lasti, op)
    if place.node is not None:
        return place.node
    module = place.module
    if module is None:
        return None
    line = place.location.line
    calls = [
        node
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    named = [node for node in calls if call_name(node) == op]
    if len(named) == 1:
        return named[0]
    outermost = [node for node in calls if not _inside_another(module, node, calls)]
    return outermost[0] if len(outermost) == 1 else None


def _inside_another(module: Module, node: ast.AST, calls: list[ast.Call]) -> bool:
    return any(parent in calls for parent in ancestors(module, node))


def _use_of(code: types.CodeType, attribute: str) -> Optional[ast.AST]:
    """Return where a forward reads ``self.<attribute>`` first."""
    module = parsed(code.co_filename)
    if module is None or not code.co_argcount:
        return None
    this = code.co_varnames[0]
    for node in ast.walk(module.tree):
        if (
            isinstance(node, ast.Attribute)
            and node.attr == attribute
            and isinstance(node.value, ast.Name)
            and node.value.id == this
            and isinstance(node.ctx, ast.Load)
            and _is_in(module, node, code)
        ):
            return node
    return None


def _is_in(module: Module, node: ast.AST, code: types.CodeType) -> bool:
    for parent in ancestors(module, node):
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([parent.lineno, *(d.lineno for d in parent.decorator_list)])
            return parent.name == code.co_name and first == code.co_firstlineno
    return False


def resolver(frame: types.FrameType) -> Any:
    """Return what looks names and dotted names up, as they are now, without running any code."""
    return _Resolver(variables(frame), frame.f_globals)


class _Resolver:
    """Looks up in local, then in global variables.

    Not a function that calls itself: its closure would be a cycle, in which tensors wait for the
    garbage collector.
    """

    def __init__(self, *spaces: Mapping[str, Any]) -> None:
        self._spaces = spaces

    def __call__(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return next((space[node.id] for space in self._spaces if node.id in space), None)
        if isinstance(node, ast.Attribute):
            return attribute_of(self(node.value), node.attr)
        return None


def _attributes_of(module: nn.Module) -> Any:
    """Return what looks up ``self.<name>``."""

    def resolve(node: ast.expr) -> Any:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return attribute_of(module, node.attr) if node.value.id == "self" else None
        return None

    return resolve


def attribute_of(thing: Any, name: str) -> Any:
    """Return an attribute as far as it is found without running code of the user's."""
    if thing is None:
        return None
    own = getattr(thing, "__dict__", {})
    for table in (own, own.get("_modules") or {}, own.get("_parameters") or {}):
        if isinstance(table, dict) and name in table:
            return table[name]
    if isinstance(thing, types.ModuleType):
        return None
    for kind in type(thing).__mro__:
        found = kind.__dict__.get(name)
        if isinstance(found, types.FunctionType):
            return types.MethodType(found, thing)
        if found is not None:
            return None
    return None
