"""A tensor that backward needs was modified in place.

RUNS IN the training process, when an exception is explained.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any, Optional

from torch import optim

from zentracer.control import edits
from zentracer.control.source import (
    Place,
    call_name,
    function_node,
    parsed,
    place_of,
    statement_of,
)
from zentracer.frameworks.pytorch.errors import graph, writes
from zentracer.frameworks.pytorch.errors.explanation import Explanation
from zentracer.frameworks.pytorch.errors.failure import Failure
from zentracer.frameworks.pytorch.errors.lookup import found as looked_up
from zentracer.frameworks.pytorch.errors.making import node_name, output_shapes, shape_text
from zentracer.frameworks.pytorch.errors.operands import operands_of
from zentracer.frameworks.pytorch.origin import location
from zentracer.frameworks.pytorch.trail import Site
from zentracer.wire.messages import Fact, Location, TextEdit

LABEL = "Modified in place"
_MESSAGE = re.compile(
    r"modified by an inplace operation: \[(?P<type>[\w.]+) \[?(?P<shape>[\d, ]*)\]?\]"
    r"(?:, which is output (?P<output>\d+) of (?P<node>\w+),)? ?is at version (?P<now>\d+); "
    r"expected version (?P<then>\d+)"
)
_LEAF = re.compile(
    r"leaf Variable that requires grad (?:is being used in an in-place operation|has been moved)"
)
_MOVES = frozenset({"T", "AsStrided", "View", "Transpose", "AccumulateGrad"})
"""What a parameter is at most passed through before it is saved."""


@dataclass(frozen=True)
class _Lines:
    """The two lines of the story."""

    made: Optional[Location]
    changed: Optional[Place]
    name: str = ""
    others: tuple[Location, ...] = ()
    """Further lines that may have changed it."""


def explain(failure: Failure) -> Optional[Explanation]:
    """Explain a version counter that moved on."""
    if _LEAF.search(failure.message):
        return _leaf(failure)
    if "modified by an inplace operation" not in failure.message:
        return None
    match = _MESSAGE.search(failure.message)
    said = Explanation(LABEL, "", op="backward", phase="backward", operands=())
    if match is None:
        said.text = "A tensor that backward needs was changed in place after it was used."
        _general(said)
        return said
    shape = tuple(int(size) for size in re.findall(r"\d+", match["shape"]))
    then, now = int(match["then"]), int(match["now"])
    producer = (match["node"] or "").partition("Backward")[0]  # older releases say SigmoidBackward0
    lines = (
        _by_the_watch(failure, producer, shape, then, now)
        or _by_the_optimizer(failure, producer)
        or _by_the_source(failure, producer)
    )
    _say(failure, said, lines, match, shape)
    return said


def _say(
    failure: Failure, said: Explanation, lines: Optional[_Lines], match: Any, shape: tuple[int, ...]
) -> None:
    producer = match["node"]
    name = lines.name if lines else ""
    what = f"{name} {shape_text(shape)}" if name else f"A tensor {shape_text(shape)}"
    of = f" made by {producer}" if producer else ""
    versions = f"version {match['then']} -> {match['now']}"
    changed = lines.changed if lines else None
    if changed is not None:
        where = changed.location
        said.origin = where
        said.text = (
            f"{what}{of} is needed unchanged by backward, but line {where.line} changed it in "
            f"place ({versions})."
        )
        said.fact("changed in place here", where)
    else:
        said.text = (
            f"{what}{of} is needed unchanged by backward, but was changed in place ({versions})."
        )
    if lines is not None and lines.made is not None:
        said.facts.insert(0, Fact(text=f"{name or 'it'} was made here", location=lines.made))
    for other in lines.others if lines else ():
        said.fact("or here, which cannot be told apart afterwards", other)
    if changed is not None and _is_step(changed):
        said.suggest(
            "Run forward again after the optimizer's step, or take the step last",
            "step() changes the parameters in place, and this backward still needs their old "
            "values. Call every backward first, then every step.",
        )
        return
    edit = _out_of_place(changed) if changed is not None else None
    said.suggest(
        "Make a new tensor instead of changing this one",
        "x = x + y leaves the old value to autograd, where x += y overwrites it"
        + ("; relu(inplace=True) and x[...] = y overwrite it too." if edit is None else "."),
        edit,
    )


def _general(said: Explanation) -> None:
    said.suggest(
        "Make a new tensor instead of changing this one",
        "Look for +=, methods that end in _ and x[...] = between forward and backward.",
    )


def _by_the_watch(
    failure: Failure, producer: str, shape: tuple[int, ...], then: int, now: int
) -> Optional[_Lines]:
    """Return the lines that the armed watch has noted."""
    if failure.watch is None:
        return None
    made, consumers = _around(failure, producer, shape)
    made_at = graph.site_of(failure, made) if made is not None else None
    for node in consumers:
        site = graph.site_of(failure, node)
        place = _written_at(site)
        if place is not None:
            return _Lines(_location(made_at), place, _written_name(place))
    noted = [
        site for version, size, site in failure.writes if then < version <= now and size == shape
    ]
    noted = noted or [site for version, _, site in failure.writes if then < version <= now]
    if not noted or (not producer and not _written_at(noted[-1])):
        return None
    place = _written_at(noted[-1]) or place_of(noted[-1].code, noted[-1].lasti, noted[-1].op)
    return _Lines(_location(made_at), place, _written_name(place))


def _around(failure: Failure, producer: str, shape: tuple[int, ...]) -> tuple[Any, list[Any]]:
    """Return the node that made the tensor, and the nodes that were given it."""
    nodes = list(graph.nodes_of(graph.roots_of(failure)))
    made = [n for n in nodes if node_name(n) == producer and shape in (output_shapes(n) or [shape])]
    consumers = [n for n in nodes if any(edge[0] in made for edge in n.next_functions)]
    consumers = [n for n in consumers if _is_write_node(failure, n)]
    if not consumers:
        return (made[0] if len(made) == 1 else None), []
    first = consumers[0]
    source = next(edge[0] for edge in first.next_functions if edge[0] in made)
    return source, consumers


def _is_write_node(failure: Failure, node: Any) -> bool:
    return _written_at(graph.site_of(failure, node)) is not None


def _written_at(site: Optional[Site]) -> Optional[Place]:
    """Return the place of ``site`` if it is written as a change in place."""
    if site is None:
        return None
    place = place_of(site.code, site.lasti, site.op)
    if place.module is None:
        return None
    node: Any = place.node
    for candidate in (node, statement_of(place.module, node) if node is not None else None):
        if writes.is_write(candidate):
            return Place(place.location, place.module, candidate)  # type: ignore[arg-type]
    if node is None:
        statement = _statement_on(place)
        if writes.is_write(statement):
            return Place(place.location, place.module, statement)  # type: ignore[arg-type]
    return None


def _statement_on(place: Place) -> Optional[ast.AST]:
    """Return the statement of a line where the bytecode has no columns."""
    assert place.module is not None
    on_line = [
        node
        for node in ast.walk(place.module.tree)
        if isinstance(node, (ast.AugAssign, ast.Assign, ast.Expr))
        and node.lineno <= place.location.line <= (node.end_lineno or node.lineno)
    ]
    statement = on_line[0] if len(on_line) == 1 else None
    return statement.value if isinstance(statement, ast.Expr) else statement


def _written_name(place: Place) -> str:
    node: Any = place.node
    written = writes.target_of(node) if node is not None else None
    return place.module.text(written) if place.module and written is not None else ""


def _location(site: Optional[Site]) -> Optional[Location]:
    return place_of(site.code, site.lasti, site.op).location if site is not None else None


def _by_the_optimizer(failure: Failure, producer: str) -> Optional[_Lines]:
    """Return the call of ``step()`` above the backward, if it is a parameter that was changed."""
    if producer and producer not in _MOVES:
        return None
    for spot in failure.users:
        module = parsed(spot.code.co_filename)
        if module is None:
            continue
        steps = [
            node
            for node in ast.walk(function_node(module, spot.code))
            if isinstance(node, ast.Call)
            and call_name(node) == "step"
            and isinstance(node.func, ast.Attribute)
            and issubclass(type(looked_up(node.func.value, spot.frame)), optim.Optimizer)
        ]
        above = [node for node in steps if node.lineno < spot.line] or steps
        if above:
            node = max(above, key=lambda step: step.lineno)
            where = location(spot.code.co_filename, node.lineno, spot.code.co_name)
            return _Lines(None, Place(where, module, node), "a parameter")
    return None


def _is_step(changed: Place) -> bool:
    return isinstance(changed.node, ast.Call) and call_name(changed.node) == "step"


def _by_the_source(failure: Failure, producer: str) -> Optional[_Lines]:
    """Return the lines that the source shows."""
    candidates = writes.writes_of(failure, producer)
    consumers = _consumer_names(failure, producer)
    if consumers:
        fitting = [w for w in candidates if w.op.replace("_", "") in consumers]
        candidates = fitting or candidates
    if not candidates:
        return None
    first, *rest = candidates
    where = location(first.path, first.line, getattr(first.function, "name", None))
    made = first.made
    others = tuple(location(w.path, w.line) for w in rest[:3] if w.line != first.line)
    statement = writes.statement(first)
    return _Lines(
        location(first.path, made.lineno) if made is not None else None,
        Place(where, first.module, statement or first.node),  # type: ignore[arg-type]
        first.name,
        others,
    )


def _consumer_names(failure: Failure, producer: str) -> set[str]:
    """Return the plain names of the operations that were given what ``producer`` made."""
    return {
        node_name(node).lower()
        for node in graph.nodes_of(graph.roots_of(failure))
        if any(
            edge[0] is not None and node_name(edge[0]) == producer for edge in node.next_functions
        )
    }


def _out_of_place(changed: Place) -> Optional[TextEdit]:
    """Return the edit from ``x += y`` to ``x = x + y``, and from ``x.relu_()`` to ``x.relu()``."""
    module, node = changed.module, changed.node
    if module is None:
        return None
    statement: Any = (
        node if isinstance(node, ast.stmt) else statement_of(module, node) if node else None
    )
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        sign = _SIGNS.get(type(statement.op))
        if sign is None:
            return None
        target, value = module.text(statement.target), edits.bracketed(module, statement.value)
        return edits.replace(changed, statement, f"{target} = {target} {sign} {value}")
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        name = call_name(call)
        if (
            isinstance(call.func, ast.Attribute)
            and isinstance(call.func.value, ast.Name)
            and name[-1:] == "_"
        ):
            target = call.func.value.id
            text = module.text(call).replace(f".{name}(", f".{name.rstrip('_')}(", 1)
            return edits.replace(changed, statement, f"{target} = {text}")
    return None


_SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.MatMult: "@"}


def _leaf(failure: Failure) -> Explanation:
    """Explain a parameter that the user's line writes into."""
    node = failure.source.node
    written = writes.target_of(node) if node is not None else None
    module = failure.source.module
    name = module.text(written) if module is not None and written is not None else ""
    name = name or next((one.called for one in operands_of(failure)), "The tensor")
    said = Explanation(LABEL, "", op="in-place")
    said.text = f"{name} is a leaf that requires grad, so autograd allows no change in place."
    said.suggest(
        "Write inside torch.no_grad()",
        f"with torch.no_grad(): keeps autograd out of it, as an initialisation needs. To compute "
        f"with the changed value, make a new tensor from {name} instead.",
    )
    return said
