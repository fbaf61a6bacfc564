"""Conditions and log messages that take long at one hit: said, and ended when the user pauses.

RUNS IN the training process. A condition runs in the program's own thread, in the middle of
pydevd's trace callback: until it ends, that thread can neither go on nor stop. Nothing is
interrupted by itself. Who pauses or disconnects wants the thread back: what still goes on
``PAUSE_PATIENCE`` after a pause is interrupted, counts as failed, and lets its thread stop.

Threads: a hit only numbers its turn, in a variable that the watchdog reads from the thread's stack.
Whoever interrupts a turn leaves its thread's entry in ``interrupt.adopted`` first and looks whether
the turn still goes on afterwards; a turn says that it is over first, and looks for an entry then.
So either nothing is sent, or the turn takes back what was.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import threading
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

from zentracer.control.pydevd import guard, interrupt
from zentracer.control.pydevd.watchdog import watchdog
from zentracer.fork_locks import renewed

SECONDS = 1.0
"""Between two looks at what the threads do."""
LOOKS = 3
"""As often must one turn be seen to be called long: more than two seconds, less than three."""
PAUSE_PATIENCE = 1.0
"""Seconds that a turn may go on after a pause."""
AGAIN = 0.25
"""Seconds between two attempts to interrupt."""
HELD = "zentracerHeld"
"""Argument of a pause that our adapter asks for because another rank has stopped: that can wait."""
_SUSPENDED = 2
"""pydevd's STATE_SUSPEND"""

_number = itertools.count(1).__next__


@dataclass
class Subject:
    """What runs at a hit, for what is to be said of it."""

    what: str
    """As in "The condition 'x > 1'"."""
    say: Callable[[str], None]
    failed: Callable[[BaseException, FrameType], Any]
    """Takes what the work raised; its value becomes the value of the turn."""
    is_told: bool = False


class Turn(NamedTuple):
    """One run at one hit."""

    number: int
    subject: Subject
    place: str


def install(pydevd: Any, _notify: Callable[..., None]) -> None:
    """Hear of pauses, of their end, and of the end of the session."""
    del pydevd
    api: Any = sys.modules["_pydevd_bundle.pydevd_api"].PyDevdAPI
    module: Any = sys.modules["_pydevd_bundle.pydevd_process_net_command_json"]
    processor = module.PyDevJsonCommandProcessor
    pause, resume, disconnect = (
        processor.on_pause_request,
        api.request_resume_thread,
        api.request_disconnect,
    )

    def on_pause_request(self: Any, py_db: Any, request: Any) -> Any:
        result = pause(self, py_db, request)
        if not (getattr(request.arguments, "kwargs", None) or {}).get(HELD):
            _watch.paused()
        return result

    def request_resume_thread(self: Any, *args: Any, **kwargs: Any) -> Any:
        _watch.resumed()
        return resume(self, *args, **kwargs)

    def request_disconnect(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = disconnect(self, *args, **kwargs)
        watchdog.call(0.0, _interrupt_all)
        return result

    processor.on_pause_request = on_pause_request
    api.request_resume_thread = request_resume_thread
    api.request_disconnect = request_disconnect


def watched(work: Callable[[FrameType], Any], subject: Subject) -> Callable[[FrameType], Any]:
    """Return ``work``, to be called at each hit; it raises nothing but the user's Ctrl+C."""
    number, adopted, settle = _number, interrupt.adopted, interrupt.settle
    interrupt.keep_signal()
    _watch.begin()

    def run(frame: FrameType) -> Any:
        _turn = number()
        try:
            try:
                return work(frame)
            finally:
                _turn = 0
                if adopted:
                    settle()
        except KeyboardInterrupt:
            raise  # the user's own, for the program
        except BaseException as error:  # not even exit() in a condition may end the program
            if adopted:
                settle()  # it arrived in the call above
            if isinstance(error, interrupt.EvaluationInterrupted):
                guard.state.evaluating = 0  # it may have arrived where that is counted down
            return subject.failed(error, frame)

    return run


_RUN = next(each for each in watched.__code__.co_consts if isinstance(each, CodeType))
interrupt.SPARED.add(_RUN.co_filename)


class _Watch:
    """Looks at the threads while there are conditions, and while a pause waits for one."""

    def __init__(self) -> None:
        self._lock = renewed(self, "_lock", threading.Lock)
        self._pid = 0
        self._seen: Dict[int, Tuple[int, int]] = {}
        """Thread -> number of its turn, and how often that was seen."""
        self._pauses = 0

    def begin(self) -> None:
        """Look from now on, as long as there are conditions."""
        with self._lock:
            if self._pid == os.getpid():
                return
            self._pid = os.getpid()  # a forked child has no watchdog until it asks for one
        with contextlib.suppress(RuntimeError):  # no thread starts at the end of the program
            watchdog.call(SECONDS, self._look)

    def _look(self) -> None:
        turns = _turns()
        with self._lock:
            if not turns and not _has_conditions():
                self._pid = 0
                return
        watchdog.call(SECONDS, self._look)  # first: also if this one fails
        before = self._seen
        self._seen = {}
        for thread, turn in turns.items():
            number, looks = before.get(thread, (0, 0))
            looks = looks + 1 if number == turn.number else 1
            self._seen[thread] = turn.number, looks
            if looks >= LOOKS and not turn.subject.is_told:
                turn.subject.is_told = True
                turn.subject.say(_long(turn, thread))

    def paused(self) -> None:
        """The user waits for the threads to stop."""
        self._pauses += 1
        pause, turns = self._pauses, _awaited()
        watchdog.call(PAUSE_PATIENCE, lambda: self._after_pause(pause, turns))

    def resumed(self) -> None:
        """The user waits no longer."""
        self._pauses += 1

    def _after_pause(self, pause: int, before: Dict[int, Turn]) -> None:
        if pause != self._pauses:
            return
        turns = _awaited()
        for thread, turn in turns.items():
            if thread in before and before[thread].number == turn.number:
                _interrupt(thread, turn)
        if _is_awaited_at_all():
            watchdog.call(PAUSE_PATIENCE, lambda: self._after_pause(pause, turns))


_watch = _Watch()


def _interrupt_all() -> None:
    for thread, turn in _turns().items():
        _interrupt(thread, turn)


def _interrupt(thread: int, turn: Turn) -> None:
    """End one turn, again and again until it is over; on the watchdog's thread only."""
    if thread not in interrupt.adopted:
        interrupt.adopt(thread)
    one = interrupt.adopted.get(thread)
    now = _turns().get(thread)
    if now is None or now.number != turn.number:
        interrupt.adopted.pop(thread, None)
    elif one is not None:
        one.interrupt()
        watchdog.call(AGAIN, lambda: _interrupt(thread, turn))


def _turns() -> Dict[int, Turn]:
    """Return what goes on now, by thread."""
    found: Dict[int, Turn] = {}
    for thread, top in sys._current_frames().items():
        frame: Optional[FrameType] = top
        while frame is not None and frame.f_code is not _RUN:
            frame = frame.f_back
        if frame is None:
            continue
        names = frame.f_locals
        if names.get("_turn"):
            at: FrameType = names["frame"]
            place = f"{os.path.basename(at.f_code.co_filename)}:{at.f_lineno}"
            found[thread] = Turn(names["_turn"], names["subject"], place)
    return found


def _awaited() -> Dict[int, Turn]:
    """Return what goes on in threads that were asked to stop."""
    asked = {thread.ident for thread in threading.enumerate() if _is_asked(thread)}
    return {thread: turn for thread, turn in _turns().items() if thread in asked}


def _is_awaited_at_all() -> bool:
    return any(_is_asked(thread) for thread in threading.enumerate())


def _is_asked(thread: Any) -> bool:
    info = getattr(thread, "additional_info", None)
    return info is not None and info.pydev_state == _SUSPENDED and not info.is_in_wait_loop


def _has_conditions() -> bool:
    pydevd = sys.modules.get("pydevd")
    debugger = pydevd.get_global_debugger() if pydevd is not None else None
    if debugger is None:
        return False
    breakpoints = [one for lines in list(debugger.breakpoints.values()) for one in _values(lines)]
    breakpoints += _values(debugger.function_breakpoint_name_to_breakpoint)
    return any(one.condition or one.expression is not None for one in breakpoints)


def _values(mapping: Dict[Any, Any]) -> Any:
    return list(mapping.values())


def _long(turn: Turn, thread: int) -> str:
    name = next((each.name for each in threading.enumerate() if each.ident == thread), thread)
    seconds = (LOOKS - 1) * SECONDS
    return (
        f"{turn.subject.what} has been running for more than {seconds:g} s at one hit, and thread "
        f"{name} waits for it at {turn.place}. It goes on until it ends; pause interrupts it."
    )
