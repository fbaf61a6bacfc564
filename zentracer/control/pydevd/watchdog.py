"""Calls back after a while, on one thread of our own.

RUNS IN the training process. pydevd has such a thread too, but its callbacks cannot set the next
alarm.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import os
import threading
import time
from typing import Any, Callable, List, Set, Tuple

from zentracer.observe.stats import error_text

_notify: Callable[..., None] = print
_told: Set[str] = set()
"""Names of callbacks of which it was said that they failed."""


def report_to(notify: Callable[..., None]) -> None:
    """Tell ``notify(message)`` of callbacks that fail."""
    global _notify
    _notify = notify


class Watchdog:
    """Alarms, of which most are pointless by the time they ring: they cost one entry in a heap."""

    def __init__(self) -> None:
        self._pid = 0
        self._changed = threading.Condition()
        self._alarms: List[Tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    def call(self, seconds: float, callback: Callable[[], None]) -> None:
        """Call ``callback`` in ``seconds``; it must be quick."""
        if self._pid != os.getpid():
            self._start()
        due = time.monotonic() + seconds
        with self._changed:
            heapq.heappush(self._alarms, (due, next(self._numbers), callback))
            if self._alarms[0][0] == due:
                self._changed.notify()

    def _start(self) -> None:
        """Start the thread; a forked child has neither it nor a lock that can be trusted."""
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._alarms = []
        thread = threading.Thread(target=self._run, name="zentracer.watchdog", daemon=True)
        # pydevd neither lists, traces nor suspends threads with these marks.
        thread.pydev_do_not_trace = True  # type: ignore[attr-defined]
        thread.is_pydev_daemon_thread = True  # type: ignore[attr-defined]
        thread.start()

    def _run(self) -> None:
        while True:
            callback = self._wait()
            try:
                callback()
            except BaseException as error:  # whatever it is: the thread has other alarms to ring
                _report(callback, error)

    def _wait(self) -> Callable[[], None]:
        with self._changed:
            while True:
                seconds = self._alarms[0][0] - time.monotonic() if self._alarms else None
                if seconds is not None and seconds <= 0:
                    return heapq.heappop(self._alarms)[2]
                self._changed.wait(seconds)


def _report(callback: Any, error: BaseException) -> None:
    name: str = getattr(callback, "__qualname__", type(callback).__name__)
    if name in _told:
        return
    _told.add(name)
    with contextlib.suppress(Exception):  # there is nobody else to tell
        _notify(
            f"ZenTracer failed in {name}, which it had put off; the program goes on without it. "
            f"Please report: {error_text(error)}"
        )


watchdog = Watchdog()
"""The one of this process."""
