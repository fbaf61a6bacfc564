"""Backward through a graph that an earlier backward has freed.

RUNS IN the training process, when an exception is explained.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any, Iterator, Optional

from torch import Tensor

from zentracer.control import edits
from zentracer.control.pydevd.usercode import is_user_code
from zentracer.control.source import (
    Module,
    Place,
    ancestors,
    call_name,
    function_node,
    parsed,
    statement_of,
)
from zentracer.frameworks.pytorch.errors import graph
from zentracer.frameworks.pytorch.errors.explanation import Explanation
from zentracer.frameworks.pytorch.errors.failure import Failure, Spot
from zentracer.frameworks.pytorch.errors.lookup import (
    code_of,
    found,
    held,
    is_module,
    is_tensor,
    tensors_in,
)
from zentracer.frameworks.pytorch.errors.making import last_binding, site_location
from zentracer.frameworks.pytorch.live import children_of
from zentracer.frameworks.pytorch.origin import location
from zentracer.wire.messages import Location

LABEL = "Backward a second time"
_MESSAGE = re.compile(r"backward through the graph a second time|saved (tensors|variables) after")
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_MOST_MODULES = 2_000


@dataclass(frozen=True)
class Kept:
    """A tensor with a graph that an earlier round made."""

    name: str
    value: Tensor
    location: Optional[Location]
    read: Optional[ast.expr] = None
    """Where the round uses it before it is made anew."""
    place: Optional[Place] = None
    from_outside: bool = False
    """Made once before the loop, rather than in the round before."""


def explain(failure: Failure) -> Optional[Explanation]:
    """Explain a graph that is gone."""
    if not _MESSAGE.search(failure.message):
        return None
    said = Explanation(LABEL, "", op="backward", phase="backward", operands=())
    kept = _kept(failure)
    if kept is not None:
        _say_kept(said, kept)
        return said
    first = _first_backward(failure)
    root = _root_text(failure)
    if first is not None:
        said.text = (
            f"The graph of {root} was freed by the backward on line {first.location.line}, and "
            "this one runs through it again."
        )
        said.origin = first.location
        said.fact("the first backward", first.location)
        said.suggest(
            "Add the losses and call backward once",
            "(a + b).backward() goes through the shared part once. retain_graph=True in the first "
            "backward keeps the graph for the second, at the price of its memory. If the second "
            "loss is not to reach the shared part, detach() what it shares.",
            _retain(first),
        )
        return said
    said.text = f"The graph of {root}, or a part of it, was freed by an earlier backward."
    said.suggest(
        "Find what is kept from an earlier round",
        "A hidden state, a running sum or a cached output carries its graph along: detach() it "
        "before it is used again, or compute it anew in each round.",
    )
    return said


def _say_kept(said: Explanation, kept: Kept) -> None:
    where = kept.location
    said.origin = where
    when = "once, before the loop" if kept.from_outside else "in the previous iteration"
    line = f" on line {where.line}" if where is not None else ""
    said.text = (
        f"{kept.name} was made {when}{line} and not detached since: its graph was freed by the "
        "backward of that iteration."
        if not kept.from_outside
        else f"{kept.name} was made {when}{line}, and its graph was freed by the first backward."
    )
    said.fact(f"{kept.name} was made here", where)
    if kept.from_outside:
        said.suggest(
            f"Compute {kept.name} inside the loop, or detach it",
            f"If {kept.name} is to learn, it must be computed anew for each backward; if not, "
            f"{kept.name}.detach() leaves its graph out.",
        )
        return
    edit = None
    if kept.read is not None and kept.place is not None and kept.place.module is not None:
        call = edits.call_method(kept.place.module, kept.read, "detach()")
        edit = edits.replace(kept.place, kept.read, call)
    said.suggest(
        f"Detach {kept.name} between iterations",
        "detach() keeps the values and drops the graph, so that backward stops at this iteration. "
        "retain_graph=True would go through every earlier iteration, slower each time.",
        edit,
    )


def _kept(failure: Failure) -> Optional[Kept]:
    """Return the tensor that was kept, from a loop's variables or a module's attributes."""
    reached = set(graph.nodes_of(graph.roots_of(failure)))
    for spot in failure.users:
        module = parsed(spot.code.co_filename)
        if module is None:
            continue
        for kept in _loop_variables(failure, spot, module):
            if _is_reached(kept.value, reached):
                return kept
    return _module_state(failure, reached)


def _is_reached(x: Tensor, reached: set[Any]) -> bool:
    """Tell whether the graph of ``x`` has a part in common with the one that backward ran through.

    What is kept may be another output of the same operations.
    """
    return not reached or any(node in reached for node in graph.nodes_of([x]))


def _loop_variables(failure: Failure, spot: Spot, module: Module) -> Iterator[Kept]:
    """Yield the variables with a graph that a round reads before it makes them."""
    scope = function_node(module, spot.code)
    loop = _loop_around(module, scope, spot.line)
    if loop is None:
        return
    carried: list[Kept] = []
    outside: list[Kept] = []
    for name, bound in list(spot.frame.f_locals.items()):
        value = next((x for x in tensors_in(bound, depth=2) if x.grad_fn is not None), None)
        if value is None or type(name) is not str:
            continue
        stores, loads = _uses(loop, name)
        if not stores and loads:
            binding = last_binding(module, spot, name)
            if is_tensor(bound) and binding is not None:
                where = location(spot.code.co_filename, binding.lineno, spot.code.co_name)
                outside.append(Kept(name, value, where, None, None, from_outside=True))
            elif not is_tensor(bound) and binding is not None:
                made = _grown_at(failure, value) or location(
                    spot.code.co_filename, loads[0].lineno, spot.code.co_name
                )
                carried.append(Kept(f"{name}[…]", value, made))
            continue
        first = min(stores, key=_position, default=None)
        early = [node for node in loads if first is not None and _runs_before(module, node, first)]
        if first is not None and (early or _is_augmented(module, first)):
            last = max(stores, key=_position)
            where = location(spot.code.co_filename, last.lineno, spot.code.co_name)
            place = Place(where, module, None)
            read = early[0] if early else None
            carried.append(Kept(name, value, where, read, place))
    yield from sorted(carried, key=lambda kept: kept.read is None)
    yield from outside


def _grown_at(failure: Failure, x: Tensor) -> Optional[Location]:
    site = graph.site_of(failure, x.grad_fn)
    return site_location(site) if site is not None else None


def _loop_around(module: Module, scope: ast.AST, line: int) -> Optional[ast.AST]:
    """Return the outermost loop of the function around ``line``."""
    loops = [
        node
        for node in ast.walk(scope)
        if isinstance(node, _LOOPS) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return min(loops, key=lambda node: node.lineno) if loops else None


def _uses(loop: ast.AST, name: str) -> tuple[list[ast.Name], list[ast.Name]]:
    names = [n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == name]
    stores = [n for n in names if isinstance(n.ctx, ast.Store)]
    return stores, [n for n in names if isinstance(n.ctx, ast.Load)]


def _position(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _runs_before(module: Module, read: ast.Name, store: ast.Name) -> bool:
    """Tell whether ``read`` runs before ``store``: on the right of the same statement it does."""
    if statement_of(module, read) is statement_of(module, store):
        return True
    return _position(read) < _position(store)


def _is_augmented(module: Module, store: ast.Name) -> bool:
    return isinstance(module.parents.get(store), ast.AugAssign)


def _module_state(failure: Failure, reached: set[Any]) -> Optional[Kept]:
    """Return an attribute of a live module that holds a tensor with its graph."""
    waiting: list[tuple[str, Any]] = [
        (name, value)
        for spot in failure.users
        for name, value in list(spot.frame.f_locals.items())
        if type(name) is str and _may_hold(value)
    ]
    seen: set[int] = set()
    for name, owner in waiting:  # grows meanwhile
        if id(owner) in seen or len(seen) > _MOST_MODULES:
            continue
        seen.add(id(owner))
        for attribute, value in list(held(owner).items()):
            x = next((x for x in tensors_in(value, depth=2) if x.grad_fn is not None), None)
            if x is not None and not attribute.startswith("__") and _is_reached(x, reached):
                where = _attribute_line(owner, attribute)
                return Kept(f"{name}.{attribute}", x, where)
        if is_module(owner):
            waiting += [(f"{name}.{key}", child) for key, child in children_of(owner)]
    return None


def _may_hold(value: Any) -> bool:
    """Tell whether ``value`` is a module or a plain object of the user's."""
    if is_module(value):
        return True
    codes = [code_of(member) for member in vars(type(value)).values()]
    return any(code is not None and is_user_code(code) for code in codes)


def _attribute_line(owner: Any, attribute: str) -> Optional[Location]:
    """Return the last line of the owner's class that assigns the attribute outside __init__."""
    for cls in type(owner).__mro__:
        for member in list(vars(cls).values()):
            code = code_of(member)
            if code is None or code.co_name == "__init__":
                continue
            module = parsed(code.co_filename)
            if module is None:
                continue
            lines = [
                node.lineno
                for node in ast.walk(function_node(module, code))
                if isinstance(node, ast.Attribute)
                and node.attr == attribute
                and isinstance(node.ctx, ast.Store)
            ]
            if lines and attribute in code.co_names:
                return location(code.co_filename, max(lines), f"{cls.__name__}.{code.co_name}")
    return None


def _first_backward(failure: Failure) -> Optional[Place]:
    """Return the call of backward that ran before this one in the same function."""
    for spot in failure.users:
        module = parsed(spot.code.co_filename)
        if module is None:
            continue
        scope = function_node(module, spot.code)
        calls = [
            node
            for node in ast.walk(scope)
            if isinstance(node, ast.Call) and call_name(node) in ("backward", "grad")
        ]
        above = [node for node in calls if node.lineno < spot.line]
        mine = [node for node in calls if node.lineno == spot.line]
        is_looped = any(
            isinstance(outer, _LOOPS) for node in mine for outer in ancestors(module, node)
        )
        chosen = max(above, key=_position) if above else mine[0] if mine and is_looped else None
        if chosen is not None:
            where = location(spot.code.co_filename, chosen.lineno, spot.code.co_name)
            return Place(where, module, chosen)
    return None


def _retain(first: Place) -> Any:
    if first.module is None or first.node is None:
        return None
    if any(k.arg == "retain_graph" for k in getattr(first.node, "keywords", [])):
        return None
    text = edits.with_keyword(first.module, first.node, "retain_graph", "True")
    return edits.replace(first, first.node, text) if text else None


def _root_text(failure: Failure) -> str:
    node = failure.source.node
    module = failure.source.module
    if module is None or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return "the loss"
    x = found(node.func.value, failure.user.frame)
    return module.text(node.func.value) if is_tensor(x) else "the loss"
