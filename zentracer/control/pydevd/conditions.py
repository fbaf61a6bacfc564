"""Conditions of line breakpoints, as the protocol says and without harm to the program.

RUNS IN the training process, inside of pydevd's trace callback. Stock debugpy 1.8.22 lets a
tensor-valued condition raise into the user's program (on 3.11 tracing then ends for the thread),
swallows mistakes, compiles the condition on every hit and stops when the condition *or* the hit
count holds. Here a tensor holds with any true element, a mistake is said once, and hits count
only when the condition holds.
"""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import Any, Callable, Optional

from zentracer.control import line_condition, no_data
from zentracer.control.hit_condition import HitCondition, HitConditionError, compile_hit_condition
from zentracer.control.pydevd import logpoints, turns
from zentracer.control.pydevd.interrupt import EvaluationInterrupted
from zentracer.fork_locks import renewed
from zentracer.progress import progress

Gate = Callable[[FrameType], bool]
"""Whether the program must stop in a frame that has reached the breakpoint's line."""

_notify: Callable[..., None] = print


def install(pydevd: Any, notify: Callable[..., None]) -> None:
    """Replace ``PyDB.handle_breakpoint_condition``, which every backend calls by name."""
    global _notify
    if not callable(pydevd.PyDB.handle_breakpoint_condition):
        raise TypeError("PyDB.handle_breakpoint_condition is not a method")
    _notify = notify

    def handle_breakpoint_condition(
        _self: Any, _info: Any, pybreakpoint: Any, new_frame: FrameType
    ) -> bool:
        try:
            gate = pybreakpoint._zentracer
        except AttributeError:
            gate = gate_of(pybreakpoint)
        return gate(new_frame)

    pydevd.PyDB.handle_breakpoint_condition = handle_breakpoint_condition
    evaluate = pydevd.PyDB.handle_breakpoint_expression

    def handle_breakpoint_expression(
        self: Any, pybreakpoint: Any, info: Any, new_frame: FrameType
    ) -> None:
        if not getattr(pybreakpoint, "is_logpoint", False):
            evaluate(self, pybreakpoint, info, new_frame)
            return
        info.pydev_message = ""  # or pydevd would say it
        if not pybreakpoint.has_condition:  # else the condition is asked first
            gate_of(pybreakpoint)(new_frame)

    pydevd.PyDB.handle_breakpoint_expression = handle_breakpoint_expression
    processor: Any = sys.modules["_pydevd_bundle.pydevd_process_net_command_json"]
    # As the user wrote it: pydevd would make an expression of it that may hold or not.
    processor.PyDevJsonCommandProcessor._get_hit_condition_expression = (
        lambda _self, hit_condition: (hit_condition or "").strip() or None
    )
    _refuse_mistakes(processor)


def _refuse_mistakes(processor: Any) -> None:
    """Answer at once that a breakpoint is unverified if its conditions cannot be read."""
    original = processor.PyDevJsonCommandProcessor.on_setbreakpoints_request

    def on_setbreakpoints_request(self: Any, py_db: Any, request: Any) -> Any:
        command = original(self, py_db, request)
        answer = command.as_dict
        told = (answer.get("body") or {}).get("breakpoints") or []
        problems = [
            mistake_in(wanted.get("condition"), wanted.get("hitCondition"))
            for wanted in request.arguments.breakpoints or []
        ]
        if not any(problems):
            return command
        for breakpoint_, problem in zip(told, problems):
            if problem is not None:
                breakpoint_.update(verified=False, message=problem)
        return processor.NetCommand(processor.CMD_RETURN, 0, answer, is_json=True)

    processor.PyDevJsonCommandProcessor.on_setbreakpoints_request = on_setbreakpoints_request


def mistake_in(condition: Optional[str], hit_condition: Optional[str]) -> Optional[str]:
    """Return why what the user wrote at a breakpoint of Python's cannot be read; None if it can."""
    try:
        if condition and condition.strip():
            line_condition.compile_test(condition)
        compile_hit_condition(hit_condition)
    except HitConditionError as error:
        return str(error)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return _NOT_EVALUATED.format(text=condition, why=f"{type(error).__name__}: {error}")
    return None


_NOT_EVALUATED = "The condition '{text}' could not be evaluated and did not stop: {why}"
_WHEN_COUNTED = "Steps are counted while a tensor exception is armed."
_INTERRUPTED = (
    "{what} was interrupted, because its thread was asked to stop and waited for it. It has no "
    "value at that hit; it is evaluated again at the next one."
)


def gate_of(pybreakpoint: Any) -> Gate:
    """Return the gate of one of pydevd's breakpoints; it is made once and never raises."""
    gate = getattr(pybreakpoint, "_zentracer", None)
    if gate is None:
        gate = pybreakpoint._zentracer = _Gate(pybreakpoint).made()
    return gate


class _Gate:
    """One breakpoint's condition, hit condition and message."""

    def __init__(self, pybreakpoint: Any) -> None:
        self._breakpoint = pybreakpoint
        self._lock = renewed(self, "_lock", threading.Lock)
        self._told = False

    def made(self) -> Gate:
        """Return the cheapest function that does what the breakpoint needs."""
        breakpoint_ = self._breakpoint
        condition: str = (breakpoint_.condition or "").strip()
        hit_condition: str = (getattr(breakpoint_, "hit_condition", None) or "").strip()
        is_log_point = getattr(breakpoint_, "is_logpoint", False)
        message = breakpoint_.expression if is_log_point else None
        try:
            test = self._tested(condition) if condition else None
            hits = compile_hit_condition(hit_condition) if hit_condition else None
        except HitConditionError as error:
            self._say(str(error))
            return _never
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self._failed(error)
            return _never
        if hits is None and message is None:
            return test if test is not None else _always
        return self._counted(test, hits, message)

    def _tested(self, condition: str) -> Gate:
        test = line_condition.compile_test(condition)
        return turns.watched(test, self._subject(f"The condition '{condition}'"))

    def _logged(self, message: str) -> Gate:
        def log(frame: FrameType) -> bool:
            logpoints.log(message, frame)
            return False

        return turns.watched(log, self._subject(f"The log message '{message}'"))

    def _subject(self, what: str) -> turns.Subject:
        def failed(error: BaseException, frame: FrameType) -> bool:
            if isinstance(error, EvaluationInterrupted):
                self._tell(_INTERRUPTED.format(what=what))
            else:
                self._failed(error, frame)
            return False

        return turns.Subject(what, self._tell, failed)

    def _counted(
        self, test: Optional[Gate], hits: Optional[HitCondition], message: Optional[str]
    ) -> Gate:
        log = self._logged(message) if message is not None else None

        def gate(frame: FrameType) -> bool:
            if test is not None and not test(frame):
                return False
            if hits is not None:
                step = progress().step if hits.counts_steps else None
                with self._lock:
                    if not hits.hit(step):
                        return False
                    said = hits.without_steps()
                if said is not None:
                    _notify(f"{said} {_WHEN_COUNTED}", None)
            return log is None or log(frame)

        return gate

    def _failed(self, error: BaseException, frame: Optional[FrameType] = None) -> None:
        if self._told:
            return
        text: str = self._breakpoint.condition
        why = f"{type(error).__name__}: {error}"
        if frame is not None:
            why = no_data.explained(error, text, frame.f_globals, frame.f_locals) or why
        self._say(_NOT_EVALUATED.format(text=text, why=why))

    def _say(self, sentence: str) -> None:
        if not self._told:
            self._told = True
            self._tell(sentence)

    def _tell(self, sentence: str) -> None:
        _notify(sentence, getattr(self._breakpoint, "breakpoint_id", None))


def _always(_frame: FrameType) -> bool:
    return True


def _never(_frame: FrameType) -> bool:
    return False
