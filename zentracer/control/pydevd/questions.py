"""What a stopped thread is asked, on its way through pydevd, and the answer on its way back.

RUNS IN the training process, on pydevd's reader thread and on those that answer. What is done about
a question is in ``evaluations.py``.
"""

from __future__ import annotations

import sys
from typing import Any, Callable, List, Optional, Tuple

from zentracer.control.pydevd import evaluations, release

NUMBER = "zentracerRequest"
"""Argument in which our adapter passes the editor's number of a request, for ``cancel``."""

_EVALUATING = {
    "internal_evaluate_expression_json": "evaluate",
    "internal_set_expression_json": "setExpression",
    "internal_get_variable_json": "variables",
    "internal_change_variable_json": "setVariable",
    "internal_get_completions": "completions",
    "internal_get_exception_details_json": "exceptionInfo",
}
"""What pydevd runs on a stopped thread and may run the user's code -> the DAP request."""
_RESUMING = ("internal_step_in_thread", "internal_smart_step_into")


def install(pydevd: Any, notify: Callable[..., None]) -> None:
    """Run what pydevd posts to a stopped thread under a guard."""
    release.install(pydevd, notify)
    comm: Any = sys.modules["_pydevd_bundle.pydevd_comm"]
    for name in (*_EVALUATING, *_RESUMING):
        if not callable(getattr(comm, name)):
            raise TypeError(f"{name} is not a function")
    # Our own patience takes the place of pydevd's, which tells the editor ``continued``.
    values: Any = sys.modules["_pydevd_bundle.pydevd_vars"]
    values.evaluate_expression = values.evaluate_expression.__wrapped__
    comm.PYDEVD_UNBLOCK_THREADS_ON_VARIABLES_TIMEOUT = -1
    _guard_posts(pydevd.PyDB, notify)
    _catch_answers(comm.WriterThread)
    _hear_resumes(sys.modules["_pydevd_bundle.pydevd_api"].PyDevdAPI)


def _guard_posts(debugger_class: Any, notify: Callable[..., None]) -> None:
    post = debugger_class.post_method_as_internal_command

    def post_method_as_internal_command(
        self: Any, thread_id: str, method: Any, *args: Any, **kwargs: Any
    ) -> None:
        name = getattr(method, "__name__", "")
        if name in _EVALUATING:
            request = _request(self, thread_id, name, args)
            evaluation = evaluations.accept(self, request, notify)
            if evaluation is None:
                return
            method = evaluation.guarded(method)
        elif name in _RESUMING:
            release.forget_stop(self, thread_id)
            evaluations.program_goes_on(thread_id)
        post(self, thread_id, method, *args, **kwargs)

    debugger_class.post_method_as_internal_command = post_method_as_internal_command


def _catch_answers(writer_class: Any) -> None:
    add_command = writer_class.add_command

    def add_command_unless_evaluating(self: Any, command: Any) -> None:
        if not evaluations.keeps(command):
            add_command(self, command)

    writer_class.add_command = add_command_unless_evaluating


def _hear_resumes(api: Any) -> None:
    request_resume_thread = api.request_resume_thread

    def request_resume_thread_and_tell(self: Any, thread_id: str) -> None:
        request_resume_thread(self, thread_id)
        evaluations.program_goes_on(thread_id)

    api.request_resume_thread = request_resume_thread_and_tell


def _request(
    debugger: Any, thread_id: str, name: str, args: Tuple[Any, ...]
) -> evaluations.Request:
    request = args[0]
    arguments = getattr(request, "arguments", None)
    return evaluations.Request(
        seq=getattr(request, "seq", request),
        number=(getattr(arguments, "kwargs", None) or {}).get(NUMBER),
        command=_EVALUATING[name],
        thread_id=thread_id,
        subject=_subject(debugger, name, args),
        has_no_limit=getattr(arguments, "context", None) == "repl",
    )


def _subject(debugger: Any, name: str, args: Tuple[Any, ...]) -> str:
    if name == "internal_get_completions":
        return str(args[3])
    arguments: Any = args[0].arguments
    expression = getattr(arguments, "expression", None) or getattr(arguments, "name", None)
    if expression is not None:
        return str(expression)
    return _name_of(debugger, arguments) or _EVALUATING[name]


def _name_of(debugger: Any, arguments: Any) -> Optional[str]:
    reference = getattr(arguments, "variablesReference", None)
    reference = getattr(reference, "variable_reference", reference)
    try:
        variable = debugger.suspended_frames_manager.get_variable(reference)
    except KeyError:  # the thread has gone on
        return None
    names: List[Any] = [getattr(variable, name, None) for name in ("evaluate_name", "name")]
    return next((str(name) for name in names if name), None)
