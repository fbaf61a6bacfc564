"""``setVariable`` and ``setExpression`` on elements of tensors, with errors a user can read.

RUNS IN the training process, on the stopped thread. Stock debugpy 1.8.22 answers only ``Error
executing: …`` when an element of a parameter is set, because autograd forbids to change a leaf in
place; and it answers a failed ``setVariable`` with the old value, as if it had worked.
"""

from __future__ import annotations

import ast
import importlib
import sys
from contextlib import contextmanager
from types import FrameType
from typing import Any, Callable, Iterator, Optional

from zentracer.control.pydevd import guard
from zentracer.control.truth import is_array
from zentracer.patches.change import Refused


def install(pydevd: Any, _notify: Callable[..., None]) -> None:
    """Replace the two commands in pydevd's API and what they lean on."""
    api = sys.modules["_pydevd_bundle.pydevd_api"]
    comm = sys.modules["_pydevd_bundle.pydevd_comm"]
    frames = sys.modules["_pydevd_bundle.pydevd_suspended_frames"]
    _patch_evaluations(sys.modules["_pydevd_bundle.pydevd_vars"])
    _patch_console(comm)
    _patch_set_expression(api, comm)
    _patch_set_variable(api, comm)
    _patch_object_variable(frames._ObjectVariable)
    _patch_frame_variable(frames._FrameVariable, sys.modules["_pydevd_bundle.pydevd_vars"])


class _Refused(Exception):
    """An assignment that failed; the text is for the user."""


def _patch_evaluations(variables: Any) -> None:
    """Make changes of assignments to parts of tensors, which can be undone."""
    original = variables.evaluate_expression

    def evaluate_expression(py_db: Any, frame: Any, expression: str, is_exec: bool) -> Any:
        if is_exec and isinstance(frame, FrameType) and _is_change(expression, frame):
            return None
        return original(py_db, frame, expression, is_exec)

    variables.evaluate_expression = evaluate_expression


def _patch_console(comm: Any) -> None:
    """Answer with the sentence of a refusal, not with a traceback through our code."""
    original = comm._evaluate_response_return_exception

    def _evaluate_response_return_exception(
        py_db: Any, request: Any, kind: Any, error: Any, traceback: Any
    ) -> None:
        if isinstance(error, Refused):
            comm._evaluate_response(py_db, request, result=str(error), error_message=str(error))
        else:
            original(py_db, request, kind, error, traceback)

    comm._evaluate_response_return_exception = _evaluate_response_return_exception


def _is_change(statement: str, frame: FrameType) -> bool:
    """Change a part of a tensor, if that is what a statement does; tell whether it is.

    Raises:
        Refused: nothing was changed; the text is a sentence.
    """
    if "=" not in statement or "torch" not in sys.modules:
        return False
    return importlib.import_module("zentracer.patches.assignments").assigned(statement, frame)


def _patch_set_expression(api: Any, comm: Any) -> None:
    original = api.internal_set_expression_json
    respond = comm._set_expression_response

    def internal_set_expression_json(py_db: Any, request: Any, thread_id: Any) -> None:
        arguments = request.arguments
        frame = py_db.find_frame(thread_id, arguments.frameId)
        with _assigning(arguments.expression, frame):
            original(py_db, request, thread_id)

    def _set_expression_response(
        py_db: Any, request: Any, error_message: Optional[str] = None, **kwargs: Any
    ) -> None:
        cause = sys.exc_info()[1]  # pydevd answers from within its except block
        if error_message is not None and cause is not None:
            error_message = _sentence(request.arguments.expression, cause)
        respond(py_db, request, error_message=error_message, **kwargs)

    api.internal_set_expression_json = internal_set_expression_json
    comm._set_expression_response = _set_expression_response


def _patch_set_variable(api: Any, comm: Any) -> None:
    original = api.internal_change_variable_json

    def internal_change_variable_json(py_db: Any, request: Any) -> None:
        try:
            original(py_db, request)
        except _Refused as refused:
            comm._write_variable_response(
                py_db, request, value="", success=False, message=str(refused)
            )

    api.internal_change_variable_json = internal_change_variable_json


def _patch_object_variable(variable_class: Any) -> None:
    original = variable_class.change_variable

    def change_variable(
        self: Any, name: str, value: str, py_db: Any, fmt: Any = None, scope: Any = None
    ) -> Any:
        child = self.get_child_variable_named(name)
        target = child.get_var_data().get("evaluateName") if child is not None else None
        if not target or not isinstance(self.frame, FrameType):
            with _without_gradients(is_array(self.value)):
                return original(self, name, value, py_db, fmt=fmt, scope=scope)
        _assign(target, value, self.frame)
        return self.get_child_variable_named(name, fmt=fmt)

    variable_class.change_variable = change_variable


def _patch_frame_variable(variable_class: Any, variables: Any) -> None:
    original = variable_class.change_variable

    def change_variable(
        self: Any, name: str, value: str, py_db: Any, fmt: Any = None, scope: Any = None
    ) -> Any:
        frame = self.frame
        if not isinstance(frame, FrameType):  # a template's frame belongs to pydevd's plugins
            return original(self, name, value, py_db, fmt=fmt, scope=scope)
        try:
            with guard.evaluating():
                new = eval(value, frame.f_globals, frame.f_locals)
        except Exception as error:
            raise _Refused(_sentence(name, error)) from error
        variables.change_attr_expression(frame, name, value, py_db, value=new, scope=scope)
        return self.get_child_variable_named(name, fmt=fmt, scope=scope)

    variable_class.change_variable = change_variable


def _assign(target: str, value: str, frame: FrameType) -> None:
    try:
        statement = f"{target} = ({value})"
        with guard.evaluating():
            if _is_change(statement, frame):
                return
        with _assigning(target, frame):
            exec(statement, frame.f_globals, frame.f_locals)
    except Exception as error:
        raise _Refused(_sentence(target, error)) from error


@contextmanager
def _assigning(target: str, frame: Any) -> Iterator[None]:
    """Run an assignment to ``target`` as the debugger's own work, gradients off for elements."""
    with guard.evaluating(), _without_gradients(_is_element(target, frame)):
        yield


def _is_element(target: str, frame: Any) -> bool:
    """Return whether ``target`` is a part of a tensor, which is changed in place.

    Rebinding a name keeps gradients on, so that ``loss = (y.sum())`` can still be differentiated.
    """
    try:
        node = ast.parse(target.strip(), mode="eval").body
        if not isinstance(node, ast.Subscript):
            return False
        base = compile(ast.Expression(node.value), "<target>", "eval")
        return is_array(eval(base, frame.f_globals, frame.f_locals))
    except Exception:  # whatever is wrong with the target, the assignment itself will say it
        return False


@contextmanager
def _without_gradients(wanted: bool) -> Iterator[None]:
    torch = sys.modules.get("torch")
    if not wanted or torch is None:
        yield
        return
    with torch.no_grad():
        yield


def _sentence(target: str, error: BaseException) -> str:
    if isinstance(error, Refused):
        return str(error)
    return f"Cannot set {target}: {type(error).__name__}: {error}"
