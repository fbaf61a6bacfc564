"""Where a value's path to the loss is cut: a dataflow slice of the user's source.

RUNS IN the training process, only when there is something to report. It follows the names that a
module's result (or a parameter) flows into, statement by statement, and notes the operation through
which no gradient comes back. Nothing is evaluated.
"""

from __future__ import annotations

import ast
import types
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, List, Mapping, Optional

from zentracer.control.cuts import cast_of, cutting_attribute, cutting_call, is_no_grad, is_plain
from zentracer.control.source import Module, function_node, parsed

_DEPTH = 4
"""Calls of the user's functions that are followed downwards."""
_Functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


@dataclass(frozen=True)
class Cut:
    """An operation through which no gradient comes back."""

    code_path: str
    node: ast.AST
    """The operation; for ``no_grad``, the ``with`` statement or the decorator."""
    op: str
    """``detach``, ``argmax``, ``>``, ``no_grad`` …"""
    last: Optional[str]
    """The last differentiable variable, as it is written."""
    into: Optional[str] = None
    """The variable in which what is cut reaches the loss."""

    @property
    def line(self) -> int:
        """The line of the operation."""
        return getattr(self.node, "lineno", 0)

    @property
    def is_explicit(self) -> bool:
        """Whether the user's own word for it is that no gradient shall pass."""
        return self.op in {"detach", "detach_", "data", "no_grad", "inference_mode"} or (
            self.op == "set_grad_enabled"
        )


@dataclass(frozen=True)
class State:
    """What is known of a value."""

    live: bool = False
    """It depends on the source, and a gradient comes back."""
    cut: Optional[Cut] = None
    """It depends on the source through this cut."""

    def __or__(self, other: State) -> State:
        return State(self.live or other.live, self.cut or other.cut)

    def __bool__(self) -> bool:
        return self.live or self.cut is not None


NOTHING = State()
LIVE = State(live=True)
Resolver = Callable[[ast.expr], Any]
"""Returns the object that a name or a dotted name stands for, None if unknown."""


@dataclass(frozen=True)
class Point:
    """An expression in a function that runs."""

    code: types.CodeType
    node: ast.AST
    resolve: Resolver = lambda _: None


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
            return walk.arrived.cut if not walk.arrived.live else None
        state = walk.returned
        if caller is None or not state:
            return None
        point = caller
    return None


class Walk:
    """One pass through the body of one function."""

    def __init__(
        self, module: Module, path: str, body: ast.AST, resolve: Resolver, depth: int = 0
    ) -> None:
        self.module = module
        self.path = path
        self.body = body
        self.resolve = resolve
        self.depth = depth
        self.env: Dict[str, State] = {}
        self.starts: Dict[ast.AST, State] = {}
        self.start_text: Optional[str] = None
        """Where a parameter is followed: how it is written."""
        self.sink: Optional[ast.AST] = None
        self.arrived = NOTHING
        self.returned = NOTHING
        self.no_grad: List[tuple[ast.AST, str]] = []

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

    # -- statements ----------------------------------------------------------------------------

    def block(self, statements: List[ast.stmt]) -> None:
        for statement in statements:
            if not isinstance(statement, _Functions):
                self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
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
        after, self.env = self.env, before
        self.block(node.orelse)
        other = self.env
        for name in {*after, *other}:
            one, two = after.get(name, NOTHING), other.get(name, NOTHING)
            self.env[name] = one | two
            cut = one.cut or two.cut
            if (
                cut is not None
                and cut not in (before.get(name, NOTHING).cut,)
                and one.live != two.live
            ):
                self.env[name] = State(False, cut)  # no gradient arrives: the cutting branch ran

    def with_block(self, node: Any) -> None:
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
        return replace(state, cut=replace(state.cut, into=self.module.text(target)))

    def bind(self, target: ast.expr, state: State) -> None:
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

    # -- expressions ---------------------------------------------------------------------------

    def value(self, node: ast.AST) -> State:
        """Return the state of an expression; notes when it is the sink."""
        state = self.starts.get(node)
        if state is None:
            state = self._value(node)
        else:
            self._value(node)
        if node is self.sink:
            self.arrived |= self.at_sink(node)
        if state.live and self.no_grad:
            where, op = self.no_grad[-1]
            state = State(False, Cut(self.path, where, op, self.last(node)))
        return state

    def at_sink(self, node: ast.AST) -> State:
        """Return the state of what backward starts from."""
        if not isinstance(node, ast.Call):
            return NOTHING
        if isinstance(node.func, ast.Attribute) and node.func.attr == "backward" and not node.args:
            return self.value(node.func.value)
        receiver = NOTHING
        if isinstance(node.func, ast.Attribute) and node.func.attr == "backward":
            receiver = self.value(node.func.value)
        first = [*node.args, *(keyword.value for keyword in node.keywords)]
        if node.func is not None and _is_grad(node):
            first = first[:1]
        for argument in first:
            receiver |= self.value(argument)
        return receiver

    def _value(self, node: ast.AST) -> State:
        if isinstance(node, ast.Name):
            return self.env.get(node.id, NOTHING)
        if isinstance(node, ast.Attribute):
            return self.attribute(node)
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, ast.Compare):
            return self.compare(node)
        if isinstance(node, ast.IfExp):
            self.value(node.test)
            one, two = self.value(node.body), self.value(node.orelse)
            return State(False, one.cut or two.cut) if one.live != two.live else one | two
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
            return self.cutting(node, "//", self.value(node.left) | self.value(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return NOTHING
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            return self.comprehension(node)
        if isinstance(node, ast.NamedExpr):
            self.assign(node.target, node.value)
            return self.env.get(node.target.id, NOTHING)
        if isinstance(node, (ast.Lambda, ast.Constant)):
            return NOTHING
        return self.children(node)

    def children(self, node: ast.AST) -> State:
        state = NOTHING
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.expr, ast.keyword)):
                state |= self.value(child)
        return state

    def attribute(self, node: ast.Attribute) -> State:
        text = self.module.text(node)
        if text == self.start_text:
            return LIVE
        if text in self.env:
            return self.env[text]
        inner = self.value(node.value)
        if is_plain(node.attr):
            return NOTHING
        op = cutting_attribute(node.attr)
        return self.cutting(node, op, inner) if op else inner

    def compare(self, node: ast.Compare) -> State:
        state = self.children(node)
        operator = node.ops[0]
        if isinstance(operator, (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
            return NOTHING
        return self.cutting(node, _COMPARISONS.get(type(operator), "=="), state)

    def comprehension(self, node: Any) -> State:
        before = dict(self.env)
        for generator in node.generators:
            self.bind(generator.target, self.value(generator.iter))
        if isinstance(node, ast.DictComp):
            state = self.value(node.value)
        else:
            state = self.value(node.elt)
        self.env = before
        return state

    def call(self, node: ast.Call) -> State:
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        states = [self.value(argument) for argument in arguments]
        given = NOTHING
        for state in states:
            given |= state
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        receiver = self.value(node.func.value) if isinstance(node.func, ast.Attribute) else NOTHING
        if name in {"append", "extend", "add", "update", "insert"} and given:
            self.merge(node.func.value, given)  # type: ignore[attr-defined]
            return NOTHING
        if is_plain(name):
            return NOTHING
        op = cutting_call(node) or (cast_of(node) if receiver or given else None)
        if op:
            return self.cutting(node, op, receiver | given)
        inside = self.inside(node, states) if self.depth < _DEPTH else None
        return receiver | given if inside is None else inside

    def inside(self, node: ast.Call, states: List[State]) -> Optional[State]:
        """Follow a call into a function of the user's; None if it is none, or gets nothing."""
        if not any(states):
            return None
        code, bound = _code_of(self.resolve(node.func))
        module = parsed(code.co_filename) if code is not None else None
        if code is None or module is None:
            return None
        body = function_node(module, code)
        if body is module.tree:
            return None
        walk = Walk(module, code.co_filename, body, lambda _: None, self.depth + 1)
        names = code.co_varnames[bound : code.co_argcount]
        for name, state in zip(names, states[: len(node.args)]):
            walk.env[name] = state
        for keyword, state in zip(node.keywords, states[len(node.args) :]):
            if keyword.arg is not None:
                walk.env[keyword.arg] = state
        walk.run()
        return walk.returned

    def cutting(self, node: ast.AST, op: str, state: State) -> State:
        if not state.live:
            return state
        return State(False, Cut(self.path, node, op, self.last(node)))

    def last(self, node: ast.AST) -> Optional[str]:
        """Return the differentiable variable that ``node`` reads, as it is written."""
        for inner in ast.walk(node):
            if isinstance(inner, (ast.Name, ast.Attribute)):
                text = self.module.text(inner)
                if text == self.start_text or self.env.get(text, NOTHING).live:
                    return text
        return None


_COMPARISONS = {
    ast.Gt: ">", ast.Lt: "<", ast.GtE: ">=", ast.LtE: "<=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip


def _is_grad(node: ast.Call) -> bool:
    return (
        isinstance(node.func, ast.Attribute)
        and node.func.attr == "grad"
        or (isinstance(node.func, ast.Name) and node.func.id == "grad")
    )


def _code_of(thing: Any) -> tuple[Optional[types.CodeType], int]:
    """Return the code of a function of the user's, or of a module's forward, and bound arguments."""
    bound = 0
    if isinstance(thing, types.MethodType):
        thing, bound = thing.__func__, 1
    elif not isinstance(thing, types.FunctionType):
        forward = getattr(type(thing), "forward", None) if thing is not None else None
        if isinstance(thing, type) or not isinstance(forward, types.FunctionType):
            return None, 0
        thing, bound = forward, 1
    return thing.__code__, bound
