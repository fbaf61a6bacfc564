"""No question to a stopped thread hangs the session.

RUNS IN the training process. Watches, hovers, variables, panels and the debug console are computed
by the stopped thread itself, while all others stand still. What has no value after ``PATIENCE``
gets it with the help of the other threads; what has none after ``LIMIT`` is interrupted, unless
the user typed it into the debug console; what cannot be interrupted is answered all the same, and
so is whatever is asked of that thread meanwhile.

Threads: ``accept`` and ``cancel`` come from pydevd's reader and from our link, ``Evaluation.run``
from the thread that computes, alarms from the watchdog. A request is answered once, by whoever
comes first; what the others bring is dropped.
"""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, Optional, Set

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
_open: Dict[int, Evaluation] = {}
"""Requests without an answer, and those that still run, by pydevd's sequence number."""
_stuck: Dict[str, Evaluation] = {}
"""Thread id -> what it could not be got out of."""
_told: Set[str] = set()


def cancel(number: int) -> None:
    """End the evaluation that answers the editor's request ``number``, if there is one."""
    for evaluation in list(_open.values()):
        if evaluation.number == number:
            evaluation.stop(slow.cancelled(evaluation.what))


def program_goes_on(thread_id: str) -> None:
    """End what takes long on a thread that the user has resumed; ``*`` for all."""
    for evaluation in list(_open.values()):
        # One without a frame is computed by pydevd's own thread.
        if evaluation.thread_id != "*" and thread_id in ("*", evaluation.thread_id):
            evaluation.program_goes_on()


def accept(debugger: Any, request: Request, notify: Callable[..., None]) -> Optional[Evaluation]:
    """Know of a request; None if it has its answer already."""
    evaluation = Evaluation(debugger, request, notify)
    _open[evaluation.seq] = evaluation
    stuck = _stuck.get(request.thread_id)
    if stuck is None:
        evaluation.wait_in_line()
        return evaluation
    evaluation.stop(slow.behind(stuck.what))
    return None


def keeps(command: Any) -> bool:
    """Whether one of pydevd's answers is kept until the other threads stand again."""
    message = command.as_dict if _open else None
    if message is None or message.get("type") != "response":
        return False
    evaluation = _open.get(message.get("request_seq"))
    return evaluation is not None and evaluation.keeps(command)


@dataclass(frozen=True)
class Request:
    """What a stopped thread is asked."""

    seq: int
    """pydevd's number."""
    number: Optional[int]
    """The editor's number."""
    command: str
    thread_id: str
    """``*`` for pydevd's own thread, where there is no frame to evaluate in."""
    subject: str
    """What the user asked for, in his words as far as there are any."""
    has_no_limit: bool
    """Whether it was typed into the debug console."""


class Evaluation:
    """One request that a stopped thread is to answer."""

    def __init__(self, debugger: Any, request: Request, notify: Callable[..., None]) -> None:
        self.thread_id, self.seq, self.number = request.thread_id, request.seq, request.number
        self.what = slow.quoted(request.subject)
        self._command = request.command
        self._has_no_limit = request.has_no_limit
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
