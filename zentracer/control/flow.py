"""Where a value's path to the loss is cut: a dataflow slice of the user's source.

RUNS IN the training process, only when there is something to report. It follows the names that a
module's result (or a parameter) flows into, statement by statement, and notes the operation through
which no gradient comes back. Nothing is evaluated.
"""

from __future__ import annotations

import ast
import types
from dataclasses import replace
from typing import Any, Dict, List, Mapping, Optional

from zentracer.control.cuts import is_no_grad
from zentracer.control.flow_state import LIVE, NOTHING, Cut, Point, State
from zentracer.control.flow_values import Values
from zentracer.control.source import function_node, parsed

__all__ = ["Cut", "Point", "follow"]

_Functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def follow(
    start: Point, callers: List[Point], sinks: Mapping[types.CodeType, ast.AST]
) -> Optional[Cut]:
    """Return what cuts the way from ``start`` to a sink; None if nothing does, or it is unclear.

    Args:
        start: the expression whose value is followed.
        callers: the calls through which that function was reached, innermost first.
        sinks: the expressions to arrive at: the calls that were running when backward started.
    """
    state, point = LIVE, start
    for caller in [*callers, None]:
        walk = Walk.of(point, state, sinks.get(point.code))
        if walk is None:
            return None
        walk.run()
        if walk.arrived:
            cut = walk.arrived.cut if not walk.arrived.live else None
            return replace(cut, root=walk.root) if cut is not None else None
        state = walk.returned
        if caller is None or not state:
            return None
        point = caller
    return None


class Walk(Values):
    """One pass through the body of one function."""

    @classmethod
    def of(cls, point: Point, state: State, sink: Optional[ast.AST]) -> Optional[Walk]:
        """Return the pass through the function of ``point``, where ``point.node`` is ``state``."""
        module = parsed(point.code.co_filename)
        if module is None:
            return None
        walk = cls(module, point.code.co_filename, function_node(module, point.code), point.resolve)
        walk.starts[point.node] = state
        walk.sink = sink
        if isinstance(point.node, ast.Attribute):
            walk.start_text = module.text(point.node)
        return walk

    def run(self) -> None:
        """Follow all statements; loops twice, so that what comes round arrives."""
        body = self.body
        for decorator in getattr(body, "decorator_list", []):
            op = is_no_grad(decorator)
            if op:
                self.no_grad.append((decorator, op))
        if isinstance(body, ast.Lambda):
            self.returned = self.value(body.body)
        else:
            self.block(getattr(body, "body", []))

    def follow_into(self, code: types.CodeType, given: Dict[str, State]) -> Optional[State]:
        """Return what a function gives back for arguments of these states; None if unknown."""
        module = parsed(code.co_filename)
        body = function_node(module, code) if module is not None else None
        if module is None or body is None or body is module.tree:
            return None
        walk = Walk(module, code.co_filename, body, lambda _: None, self.depth + 1)
        walk.env.update(given)
        walk.run()
        return walk.returned

    # -- statements ----------------------------------------------------------------------------

    def block(self, statements: List[ast.stmt]) -> None:
        """Follow the statements of a block."""
        for statement in statements:
            if not isinstance(statement, _Functions):
                self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        """Follow one statement."""
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self.assign(target, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.assign(node.target, node.value)
        elif isinstance(node, ast.AugAssign):
            state = self.value(node.target) | self.value(node.value)
            self.bind(node.target, self.named(state, node.target, node.value))
        elif isinstance(node, ast.Return):
            if node.value is not None:
                self.returned |= self.value(node.value)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            for _ in range(2):
                self.bind(node.target, self.value(node.iter))
                self.block(node.body)
            self.block(node.orelse)
        elif isinstance(node, ast.While):
            for _ in range(2):
                self.value(node.test)
                self.block(node.body)
        elif isinstance(node, ast.If):
            self.branches(node)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            self.with_block(node)
        elif isinstance(node, ast.Try):
            self.block(node.body)
            for handler in node.handlers:
                self.block(handler.body)
            self.block([*node.orelse, *node.finalbody])
        elif isinstance(node, ast.Expr):
            self.value(node.value)

    def branches(self, node: ast.If) -> None:
        """Take both ways; what a cutting branch assigns anew is cut, as it is when it runs."""
        self.value(node.test)
        before = dict(self.env)
        self.block(node.body)
        after, self.env = self.env, dict(before)
        self.block(node.orelse)
        other, self.env = self.env, {}
        for name in {*after, *other}:
            one, two = after.get(name, NOTHING), other.get(name, NOTHING)
            cut = one.cut or two.cut
            is_new = cut is not None and cut != before.get(name, NOTHING).cut
            # No gradient arrives, so it was the cutting branch that ran.
            self.env[name] = State(False, cut) if is_new and one.live != two.live else one | two

    def with_block(self, node: Any) -> None:
        """Follow a ``with``; in ``no_grad`` everything is cut."""
        ops = [(item.context_expr, is_no_grad(item.context_expr)) for item in node.items]
        entered = [(node, op) for _, op in ops if op]
        self.no_grad += entered
        for item in node.items:
            state = self.value(item.context_expr)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, state)
        self.block(node.body)
        if entered:
            del self.no_grad[-len(entered) :]

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        """Follow an assignment, of tuples element by element."""
        pairs = isinstance(target, (ast.Tuple, ast.List)) and isinstance(
            value, (ast.Tuple, ast.List)
        )
        if pairs and len(target.elts) == len(value.elts):  # type: ignore[attr-defined]
            states = [self.value(element) for element in value.elts]  # type: ignore[attr-defined]
            for part, element, state in zip(target.elts, value.elts, states):  # type: ignore[attr-defined]
                self.bind(part, self.named(state, part, element))
            return
        self.bind(target, self.named(self.value(value), target, value))

    def named(self, state: State, target: ast.expr, value: ast.expr) -> State:
        """Note in a cut the variable that carries it on towards the loss."""
        if state.cut is None or state.live:
            return state
        name = self.module.text(target)
        if name in state.cut.carriers:
            return state
        return replace(state, cut=replace(state.cut, carriers=(*state.cut.carriers, name)))

    def bind(self, target: ast.expr, state: State) -> None:
        """Let a target stand for ``state`` from here on."""
        if isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                self.bind(element, state)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, state)
        elif isinstance(target, ast.Subscript):
            self.merge(target.value, state)
        elif isinstance(target, (ast.Name, ast.Attribute)):
            self.env[self.module.text(target)] = state

    def merge(self, target: ast.expr, state: State) -> None:
        """``target`` is a container that ``state`` is put into."""
        name = self.module.text(target)
        self.env[name] = self.env.get(name, NOTHING) | state
