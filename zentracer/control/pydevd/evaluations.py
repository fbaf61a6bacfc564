"""No question to a stopped thread hangs the session.

RUNS IN the training process. Watches, hovers, variables, panels and the debug console are computed
by the stopped thread itself, while all others stand still. What has no value after ``PATIENCE``
gets it with the help of the other threads; what has none after ``LIMIT`` is interrupted, unless
the user typed it into the debug console; what cannot be interrupted is answered all the same, and
so is whatever is asked of that thread meanwhile.

Threads: ``_accept`` and ``cancel`` come from pydevd's reader and from our link, ``_Evaluation.run``
from the thread that computes, alarms from the watchdog. A request is answered once, by whoever
comes first; what the others bring is dropped.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from zentracer.control.pydevd import release, slow
from zentracer.control.pydevd.interrupt import Interruptible
from zentracer.control.pydevd.watchdog import watchdog

PATIENCE = 1.0
"""Seconds that an evaluation may take while all other threads stand."""
LIMIT = 10.0
"""Seconds that an evaluation may take at all, unless it was typed into the debug console."""
GRACE = 2.0
"""Seconds that an interrupted evaluation may take to end."""
AGAIN = 0.25
"""Seconds between two attempts to interrupt."""
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

_open: Dict[int, _Evaluation] = {}
"""Requests without an answer, and those that still run, by pydevd's sequence number."""
_stuck: Dict[str, _Evaluation] = {}
"""Thread id -> what it could not be got out of."""
_told: Set[str] = set()


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


def cancel(number: int) -> None:
    """End the evaluation that answers the editor's request ``number``, if there is one."""
    for evaluation in list(_open.values()):
        if evaluation.number == number:
            evaluation.stop(slow.cancelled(evaluation.what))


def _guard_posts(debugger_class: Any, notify: Callable[..., None]) -> None:
    post = debugger_class.post_method_as_internal_command

    def post_method_as_internal_command(
        self: Any, thread_id: str, method: Any, *args: Any, **kwargs: Any
    ) -> None:
        name = getattr(method, "__name__", "")
        if name in _EVALUATING:
            evaluation = _accept(self, thread_id, name, args, notify)
            if evaluation is None:
                return
            method = evaluation.guarded(method)
        elif name in _RESUMING:
            release.forget_stop(self, thread_id)
            _program_goes_on(thread_id)
        post(self, thread_id, method, *args, **kwargs)

    debugger_class.post_method_as_internal_command = post_method_as_internal_command


def _catch_answers(writer_class: Any) -> None:
    add_command = writer_class.add_command

    def add_command_unless_evaluating(self: Any, command: Any) -> None:
        message = command.as_dict if _open else None
        if message is not None and message.get("type") == "response":
            evaluation = _open.get(message.get("request_seq"))
            if evaluation is not None and evaluation.keeps(command):
                return
        add_command(self, command)

    writer_class.add_command = add_command_unless_evaluating


def _hear_resumes(api: Any) -> None:
    request_resume_thread = api.request_resume_thread

    def request_resume_thread_and_tell(self: Any, thread_id: str) -> None:
        request_resume_thread(self, thread_id)
        _program_goes_on(thread_id)

    api.request_resume_thread = request_resume_thread_and_tell


def _program_goes_on(thread_id: str) -> None:
    for evaluation in list(_open.values()):
        # One without a frame is computed by pydevd's own thread.
        if evaluation.thread_id != "*" and thread_id in ("*", evaluation.thread_id):
            evaluation.program_goes_on()


def _accept(
    debugger: Any, thread_id: str, name: str, args: Tuple[Any, ...], notify: Callable[..., None]
) -> Optional[_Evaluation]:
    """Know of a request; None if it has its answer already."""
    evaluation = _Evaluation(debugger, thread_id, name, args, notify)
    _open[evaluation.seq] = evaluation
    stuck = _stuck.get(thread_id)
    if stuck is None:
        evaluation.wait_in_line()
        return evaluation
    evaluation.stop(slow.behind(stuck.what))
    return None


class _Evaluation:
    """One request that a stopped thread is to answer."""

    def __init__(
        self,
        debugger: Any,
        thread_id: str,
        name: str,
        args: Tuple[Any, ...],
        notify: Callable[..., None],
    ) -> None:
        request = args[0]
        self.thread_id = thread_id
        self.seq: int = getattr(request, "seq", request)
        arguments = getattr(request, "arguments", None)
        self.number = (getattr(arguments, "kwargs", None) or {}).get(NUMBER)
        self.what = slow.quoted(_subject(debugger, name, args))
        self._command = _EVALUATING[name]
        self._has_no_limit = getattr(arguments, "context", None) == "repl"
        self._debugger = debugger
        self._notify = notify
        self._lock = threading.RLock()
        self._work = Interruptible()
        self._thread: Any = None
        self._began = 0.0
        self._let_run_at: Optional[float] = None
        self._ran = 0.0
        self._goes_on = False
        self._said_resumed = False
        self._ended = False
        self._answered = False
        self._answer: Any = None
        self._problem: Optional[str] = None

    # On the thread that computes

    def guarded(self, method: Callable[..., None]) -> Callable[..., None]:
        """``method``, to be called once, on the thread that is asked."""

        def run(debugger: Any, *args: Any, **kwargs: Any) -> None:
            if self._begin():
                try:
                    self._work.run(lambda: method(debugger, *args, **kwargs))
                finally:
                    self._end()

        return run

    def _begin(self) -> bool:
        with self._lock:
            if self._answered:  # while it waited for its turn
                return False
            self._thread = threading.current_thread()
            self._began = time.monotonic()
        watchdog.call(PATIENCE, self._is_slow)
        return True

    def _end(self) -> None:
        with self._lock:
            self._ended = True
            self._hold_again()
            self._send_answer()
            if self._said_resumed:
                release.say_stopped_again(self._debugger, self._thread)
        _open.pop(self.seq, None)
        if _stuck.get(self.thread_id) is self:
            del _stuck[self.thread_id]
        if self._ran and self._problem is None and self.what not in _told:
            _told.add(self.what)
            self._notify(slow.let_run(self.what, time.monotonic() - self._began, self._ran))

    # The answer

    def keeps(self, command: Any) -> bool:
        """Keep pydevd's answer until the other threads stand again."""
        if command is self._answer:
            return False
        self._answer = self._answer or command
        return True

    def _send_answer(self) -> None:
        if self._answered:
            return
        self._answered = True
        if self._answer is None or self._problem is not None:
            text = self._problem or f"debugpy has no answer for {self.what}."
            self._answer = _failure(self.seq, self._command, text)
        self._debugger.writer.add_command(self._answer)

    # From other threads

    def wait_in_line(self) -> None:
        """Wait for the thread, but not for ever: the debug console may have it for long."""
        first = next((e for e in list(_open.values()) if e.thread_id == self.thread_id), self)
        if first is not self:
            text = slow.busy(first.what, LIMIT)
            watchdog.call(LIMIT, lambda: None if self._thread else self.stop(text))

    def stop(self, problem: str) -> None:
        """Answer with ``problem``, and end what runs."""
        with self._lock:
            if self._ended or self._problem is not None:
                return
            self._problem = problem
            if self._thread is None:
                self._send_answer()
                _open.pop(self.seq, None)
                return
        watchdog.call(GRACE, self._give_up)
        self._press()

    def program_goes_on(self) -> None:
        """The user has resumed this thread: what is quick still gets its answer."""
        with self._lock:
            self._goes_on = True
            is_slow = self._thread is not None and time.monotonic() - self._began >= PATIENCE
        if is_slow:
            self._is_overtaken()

    def _press(self) -> None:
        with self._lock:
            if self._ended:
                return
        self._work.interrupt()
        watchdog.call(AGAIN, self._press)

    def _is_slow(self) -> None:
        with self._lock:
            if self._ended:
                return
            if not self._goes_on:
                if self.thread_id != "*" and release.let_run(self._debugger, self._thread):
                    self._let_run_at = time.monotonic()
                watchdog.call(LIMIT - PATIENCE, self._has_had_its_time)
                return
        self._is_overtaken()

    def _is_overtaken(self) -> None:
        self.stop(slow.overtaken(self.what))
        with self._lock:
            if not self._ended and not release.stands(self._thread):
                self._said_resumed = True
                release.say_resumed(self._debugger, self._thread)

    def _has_had_its_time(self) -> None:
        with self._lock:
            if self._ended or self._problem is not None:
                return
            ran = time.monotonic() - self._let_run_at if self._let_run_at else 0.0
        if self._has_no_limit:
            self._notify(slow.still_running(self.what, LIMIT))
        else:
            met = release.that_met_a_stop(self._debugger)
            self.stop(slow.interrupted(self.what, LIMIT, ran, met))

    def _give_up(self) -> None:
        with self._lock:
            if self._ended:
                return
            self._problem = slow.stuck(self.what)
            self._hold_again()
            self._send_answer()
            _stuck[self.thread_id] = self
        for other in list(_open.values()):
            if other is not self and other.thread_id == self.thread_id:
                other.stop(slow.behind(self.what))

    def _hold_again(self) -> None:
        if self._let_run_at is not None:
            self._ran = time.monotonic() - self._let_run_at
            self._let_run_at = None
            release.hold_again(self._debugger, self._thread)


def _subject(debugger: Any, name: str, args: Tuple[Any, ...]) -> str:
    """What the user asked for, in his words as far as there are any."""
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


def _failure(seq: int, command: str, message: str) -> Any:
    net_command = sys.modules["_pydevd_bundle.pydevd_net_command"].NetCommand
    returns = sys.modules["_pydevd_bundle.pydevd_comm_constants"].CMD_RETURN
    response = {
        "type": "response",
        "request_seq": seq,
        "success": False,
        "command": command,
        "message": message,
        "body": {},
    }
    return net_command(returns, 0, response, is_json=True)
