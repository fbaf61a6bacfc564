"""How a value flows through expressions.

RUNS IN the training process, only when there is something to report.
"""

from __future__ import annotations

import abc
import ast
import types
from typing import Any, Dict, List, Optional

from zentracer.control.cuts import cast_of, cutting_attribute, cutting_call, is_plain
from zentracer.control.flow_state import LIVE, NOTHING, Cut, Resolver, State
from zentracer.control.pydevd.usercode import is_user_code
from zentracer.control.source import Module, call_name

_DEPTH = 4
"""Calls of the user's functions that are followed downwards."""


class Values(abc.ABC):
    """The part of a pass that looks at expressions."""

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
        self.root: Optional[str] = None
        """The variable that backward starts from."""
        self.returned = NOTHING
        self.no_grad: List[tuple[ast.AST, str]] = []

    @abc.abstractmethod
    def bind(self, target: ast.expr, state: State) -> None:
        """Let a target stand for ``state`` from here on."""

    @abc.abstractmethod
    def merge(self, target: ast.expr, state: State) -> None:
        """``target`` is a container that ``state`` is put into."""

    @abc.abstractmethod
    def assign(self, target: ast.expr, value: ast.expr) -> None:
        """Follow an assignment, of tuples element by element."""

    @abc.abstractmethod
    def follow_into(self, code: types.CodeType, given: Dict[str, State]) -> Optional[State]:
        """Return what a function gives back for arguments of these states; None if unknown."""

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
        wanted = [*node.args, *(keyword.value for keyword in node.keywords)]
        if isinstance(node.func, ast.Attribute) and node.func.attr == "backward":
            wanted.insert(0, node.func.value)
        if call_name(node) in {"grad", "backward"}:
            wanted = wanted[: 1 if call_name(node) == "grad" else 2]
        state = NOTHING
        for argument in wanted:
            found = self.value(argument)
            if found and isinstance(argument, (ast.Name, ast.Attribute)):
                self.root = self.root or self.module.text(argument)
            state |= found
        return state

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
        """Return the state of all parts together."""
        state = NOTHING
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.expr, ast.keyword)):
                state |= self.value(child)
        return state

    def attribute(self, node: ast.Attribute) -> State:
        """Return the state of ``x.name``."""
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
        """Return the state of a comparison."""
        state = self.children(node)
        operator = node.ops[0]
        if isinstance(operator, (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
            return NOTHING
        return self.cutting(node, _COMPARISONS.get(type(operator), "=="), state)

    def comprehension(self, node: Any) -> State:
        """Return the state of what a comprehension makes."""
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
        """Return the state of what a call returns."""
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
        if code is None:
            return None
        names = code.co_varnames[bound : code.co_argcount]
        given = dict(zip(names, states[: len(node.args)]))
        for keyword, state in zip(node.keywords, states[len(node.args) :]):
            if keyword.arg is not None:
                given[keyword.arg] = state
        return self.follow_into(code, given)

    def cutting(self, node: ast.AST, op: str, state: State) -> State:
        """Return what is left of ``state`` behind a cutting operation."""
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


def _code_of(thing: Any) -> tuple[Optional[types.CodeType], int]:
    """Return the code of a function or forward of the user's, and how many arguments are bound."""
    bound = 0
    if isinstance(thing, types.MethodType):
        thing, bound = thing.__func__, 1
    elif not isinstance(thing, types.FunctionType):
        thing, bound = getattr(type(thing), "forward", None), 1
    if not isinstance(thing, types.FunctionType) or not is_user_code(thing.__code__):
        return None, 0
    return thing.__code__, bound
