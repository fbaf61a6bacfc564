"""Ends what a thread computes for the debugger, and never anything else that the thread does.

RUNS IN the training process. On the main thread a signal does it: it also wakes waits for a lock,
and its handler runs on that very thread, so it can look whether the work still goes on. Other
threads get an asynchronous exception, which arrives with the next line of Python: a wait inside of
C code ends first, or never.

Architecture invariant: once ``run`` has returned, nothing of an interruption is left. Whoever
interrupts does so under a lock, not after the work has said that it is over, not while the thread
is in this file, and not twice before the thread has seen the first time; what has been sent and
not seen is taken back under the same lock.
"""

from __future__ import annotations

import contextlib
import ctypes
import signal
import sys
import threading
from types import FrameType
from typing import Any, Callable, Dict, Optional, Set

_SIGNAL: Optional[int] = getattr(signal, "SIGURG", None)
"""Ignored unless a program asks for it, and no library uses it; None on Windows."""


class EvaluationInterrupted(BaseException):
    """Ends an evaluation. No ``Exception``, so that the user's code rarely swallows it."""


class Interruptible:
    """One piece of work on one thread, which another thread may end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread = 0
        self._over = False
        self._on_its_way = False
        """Sent, and not seen by the thread yet."""
        self._former_handler: Any = None
        self._uses_signal = False

    def run(self, work: Callable[[], None]) -> bool:
        """Call ``work`` on this thread; returns whether it came to its end.

        It may also have caught the interruption and gone on, and then counts as ended.
        """
        try:
            try:
                self._begin()
                work()
                return True
            finally:
                self._end()
        except EvaluationInterrupted:
            self._end()  # it may have arrived in the other call, before anything was done there
            return False

    def interrupt(self) -> None:
        """End the work, if it goes on; to be repeated, because user code may catch anything."""
        with self._lock:
            if self._over or not self._thread:
                return
            if not self._on_its_way:
                frame = sys._current_frames().get(self._thread)
                if frame is None or frame.f_code.co_filename in SPARED:
                    return
                self._on_its_way = True
                if not self._uses_signal:
                    _raise_in(self._thread, self._exception())
            if self._uses_signal:
                # Each time: one that comes just before the thread begins to wait does not wake it.
                assert _SIGNAL is not None
                signal.pthread_kill(self._thread, _SIGNAL)

    def _begin(self) -> None:
        if threading.current_thread() is threading.main_thread():
            self._take_signal()
        self._thread = threading.get_ident()

    def _end(self) -> None:
        self._over = True  # first: from here on nobody sends
        with self._lock:
            if self._on_its_way and not self._uses_signal:
                _raise_in(self._thread, None)
        if self._former_handler is not None:
            assert _SIGNAL is not None
            self._uses_signal = False
            signal.signal(_SIGNAL, self._former_handler)

    def _take_signal(self) -> None:
        if _SIGNAL is None:
            return
        if signal.getsignal(_SIGNAL) is not signal.SIG_DFL and not _has_our_handler():
            return
        try:
            self._former_handler = signal.signal(_SIGNAL, self._on_signal)
        except ValueError:  # not the main interpreter
            return
        self._uses_signal = True

    def _on_signal(self, _number: int, _frame: Optional[FrameType]) -> None:
        if self._over or not self._on_its_way:
            return
        self._on_its_way = False
        raise EvaluationInterrupted

    def _exception(self) -> type:
        """A type that tells when the thread has seen it."""
        work = self

        class Interrupted(EvaluationInterrupted):
            def __init__(self, *arguments: object) -> None:
                super().__init__(*arguments)
                work._on_its_way = False

        Interrupted.__name__ = Interrupted.__qualname__ = EvaluationInterrupted.__name__
        return Interrupted


def _raise_in(thread: int, exception: Optional[type]) -> None:
    """Leave ``exception`` for the thread, or take back what was left for it."""
    value = ctypes.py_object() if exception is None else ctypes.py_object(exception)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), value)


SPARED: Set[str] = {Interruptible.run.__code__.co_filename}
"""Files in which a thread is not interrupted: they clear up after an interruption."""
adopted: Dict[int, Interruptible] = {}
"""Thread -> work that was begun without ``run``, and that is to be interrupted."""


def adopt(thread: int) -> None:
    """Prepare to end work that ``thread`` does already, and that calls ``settle`` at its end."""
    one = Interruptible()
    one._thread = thread
    one._uses_signal = thread == threading.main_thread().ident and _has_our_handler()
    adopted[thread] = one


def settle() -> None:
    """See to it that nothing is left of an interruption of the calling thread's work."""
    thread = threading.get_ident()
    one = adopted.get(thread)
    if one is not None:
        one._end()
        adopted.pop(thread, None)


def keep_signal() -> None:
    """Let waits of the main thread be ended in adopted work, too; called on any thread."""
    if _SIGNAL is None or threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(_SIGNAL) is signal.SIG_DFL:
        with contextlib.suppress(ValueError):  # not the main interpreter
            signal.signal(_SIGNAL, _on_kept_signal)


def _has_our_handler() -> bool:
    return _SIGNAL is not None and signal.getsignal(_SIGNAL) is _on_kept_signal


def _on_kept_signal(number: int, frame: Optional[FrameType]) -> None:
    one = adopted.get(threading.get_ident())
    if one is not None:
        one._on_signal(number, frame)
