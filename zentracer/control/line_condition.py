"""A line breakpoint's condition as one function of the frame, compiled once.

RUNS IN the training process, at every hit: what can be decided beforehand is decided here, since
a loop pays for each microsecond.
"""

from __future__ import annotations

import ast
from types import CodeType, FrameType
from typing import Any, Callable, Dict, Iterator, Tuple

from zentracer import zt
from zentracer.control.pydevd import guard
from zentracer.control.truth import holds

Test = Callable[[FrameType], bool]
"""Whether the condition holds in a frame; raises what the condition raises."""


def compile_test(source: str) -> Test:
    """Compile ``source`` for frames of any kind.

    Raises:
        SyntaxError: it is no expression.
        ValueError: it holds a null byte.
    """
    code = compile(source.strip(), "<condition>", "eval", dont_inherit=True)
    if needs_space(code) or _binds(source):
        return _tested_in_space(code, source)
    return _tested(code)


def evaluate(code: CodeType, frame: FrameType, source: str) -> Any:
    """Evaluate ``code`` with the names of ``frame`` and ``zt``; nothing in the frame is changed."""
    space, names = _space(code, frame, source)
    return eval(code, space, names)


def needs_space(code: CodeType) -> bool:
    """Whether the frame's own mappings do not do: ``zt``, or functions inside the expression."""
    return any(inner is not code or "zt" in inner.co_names for inner in codes(code))


def _tested(code: CodeType) -> Test:
    state = guard.state

    def test(frame: FrameType) -> bool:
        before = state.evaluating
        state.evaluating = before + 1
        try:
            value = eval(code, frame.f_globals, frame.f_locals)
            return value if value is False or value is True else holds(value)
        finally:
            state.evaluating = before

    return test


def _tested_in_space(code: CodeType, source: str) -> Test:
    def test(frame: FrameType) -> bool:
        with guard.evaluating():
            return holds(evaluate(code, frame, source))

    return test


def _space(code: CodeType, frame: FrameType, source: str) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """Return globals and locals for ``code``, copies both.

    Functions inside an expression, such as generator expressions, see only globals; so for them
    the locals are among the globals.
    """
    names = dict(frame.f_locals)
    if "zt" not in names and "zt" not in frame.f_globals:
        names["zt"] = zt.at(frame, source)
    if any(isinstance(constant, CodeType) for constant in code.co_consts):
        return {**frame.f_globals, **names}, names
    return frame.f_globals, names


def codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and all that is defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def _binds(source: str) -> bool:
    """Whether the expression binds a name, which must not reach the program."""
    return ":=" in source and any(
        isinstance(node, ast.NamedExpr) for node in ast.walk(ast.parse(source.strip(), mode="eval"))
    )
