"""``zt`` wherever the debugger evaluates: watches, hovers, the debug console, and completion.

RUNS IN the training process, on the stopped thread. The name is offered as a builtin of the one
evaluation: the user's variables win, and nothing is left in the user's namespaces.
"""

from __future__ import annotations

import builtins
import functools
import sys
import threading
from types import CodeType
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from zentracer import zt
from zentracer.control import line_condition, no_data


class NoData(Exception):
    """An expression that needs the elements of a tensor that has none."""


class _Local(threading.local):
    frame: Any = None
    expression = ""


_local = _Local()


def install(pydevd: Any, _notify: Callable[..., None]) -> None:
    """Offer the name to pydevd's evaluations and to its completions."""
    del pydevd
    values: Any = sys.modules["_pydevd_bundle.pydevd_vars"]
    values.eval = functools.partial(_evaluated, eval)  # in that module in the place of the builtin
    values.Exec = functools.partial(_evaluated, values.Exec)
    _note_places(values)
    completer: Any = sys.modules["_pydevd_bundle.pydevd_comm"]._pydev_completer
    _add_completions(completer)
    factory: Any = sys.modules["_pydevd_bundle.pydevd_net_command_factory_json"]
    _describe_completions(factory)


def _evaluated(
    run: Callable[..., Any],
    code: Any,
    space: Dict[str, Any],
    names: Optional[Dict[str, Any]] = None,
) -> Any:
    """Evaluate or execute ``code``, with ``zt`` if it names it."""
    if not _mentions(code) or zt.NAME in space or (names is not None and zt.NAME in names):
        return run(code, space, names)
    helper = zt.at(_local.frame, _local.expression)
    if names is not None:
        return run(code, space, {**names, zt.NAME: helper})
    before = space.get("__builtins__", builtins)
    known = before if isinstance(before, dict) else vars(before)
    space["__builtins__"] = {**known, zt.NAME: helper}
    try:
        return run(code, space)
    finally:
        space["__builtins__"] = before


def _mentions(code: Any) -> bool:
    if isinstance(code, CodeType):
        return any(zt.NAME in inner.co_names for inner in line_condition.codes(code))
    return zt.NAME in code


def _note_places(values: Any) -> None:
    original = values.evaluate_expression

    def evaluate_expression(py_db: Any, frame: Any, expression: str, is_exec: bool) -> Any:
        before = _local.frame, _local.expression
        _local.frame, _local.expression = frame, expression
        try:
            result = original(py_db, frame, expression, is_exec)
        finally:
            _local.frame, _local.expression = before
        if isinstance(result, values.ExceptionOnEvaluate) and frame is not None:
            error = result.result
            why = no_data.explained(error, expression, frame.f_globals, frame.f_locals)
            if why is not None:
                result.result, result.etype = NoData(why), NoData
        return result

    values.evaluate_expression = evaluate_expression


class Completion(NamedTuple):
    """One of ours, in the form of pydevd's."""

    name: str
    doc: str
    parameters: str
    kind: str


_FUNCTION, _ATTRIBUTE = "2", "3"
"""pydevd's TYPE_FUNCTION and TYPE_ATTR"""


def _add_completions(completer: Any) -> None:
    original = completer.generate_completions

    def generate_completions(frame: Any, act_tok: str) -> Any:
        if frame is None or zt.NAME in frame.f_locals or zt.NAME in frame.f_globals:
            return original(frame, act_tok)
        if act_tok.startswith(f"{zt.NAME}."):
            return _members()
        found = list(original(frame, act_tok))
        if "." not in act_tok:
            doc = _first_line(type(zt.at(None, "")))
            found.append(Completion(zt.NAME, doc, "", _ATTRIBUTE))
        return found

    completer.generate_completions = generate_completions


def _members() -> List[Completion]:
    members = type(zt.at(None, ""))
    return [
        Completion(name, _first_line(member), "", _FUNCTION if callable(member) else _ATTRIBUTE)
        for name, member in sorted(vars(members).items())
        if not name.startswith("_")
    ]


def _first_line(thing: Any) -> str:
    return (thing.__doc__ or "").strip().partition("\n")[0]


def _describe_completions(factory: Any) -> None:
    """Say in ``detail`` what a member of ours does."""
    schema, net_command = factory.pydevd_schema, factory.NetCommand
    original = factory.NetCommandFactoryJson.make_get_completions_message

    def make_get_completions_message(
        self: Any, seq: int, completions: Any, qualifier: str, start: int
    ) -> Any:
        command = original(self, seq, completions, qualifier, start)
        ours = {each.name: each.doc for each in completions if isinstance(each, Completion)}
        if not ours:
            return command
        targets = command.as_dict["body"]["targets"]
        for target in targets:
            if target["label"] in ours:
                target["detail"] = ours[target["label"]]
        response = schema.CompletionsResponse(
            request_seq=seq,
            success=True,
            command="completions",
            body=schema.CompletionsResponseBody(targets),
        )
        return net_command(factory.CMD_RETURN, 0, response, is_json=True)

    factory.NetCommandFactoryJson.make_get_completions_message = make_get_completions_message
