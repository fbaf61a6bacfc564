"""Log points: breakpoints that write a line to the console and let the program go on.

RUNS IN the training process, inside of pydevd's trace callback. Stock debugpy 1.8.22 evaluates the
message before the condition, prints a tensor over pages, knows no ``{x:.3f}`` and puts no bound to
what a loop may send.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import time
from types import FrameType
from typing import Any, Callable

from zentracer.control.pydevd import guard
from zentracer.fork_locks import renewed

MOST_A_SECOND = 500
"""Lines of all log points together that are sent in one second. An editor's console takes some
thousands; beyond, the session would be busy with nothing else."""


def install(pydevd: Any, _notify: Callable[..., None]) -> None:
    """Keep messages as the user wrote them, and say them ourselves."""
    processor: Any = sys.modules["_pydevd_bundle.pydevd_process_net_command_json"]
    if not callable(processor.convert_dap_log_message_to_expression):
        raise TypeError("convert_dap_log_message_to_expression is not a function")
    dispose = pydevd.PyDB.dispose_and_kill_all_pydevd_threads

    def dispose_and_kill_all_pydevd_threads(self: Any, *args: Any, **kwargs: Any) -> Any:
        _rate.flush()  # at the end of the program, and the last moment at which pydevd sends
        return dispose(self, *args, **kwargs)

    pydevd.PyDB.dispose_and_kill_all_pydevd_threads = dispose_and_kill_all_pydevd_threads
    processor.convert_dap_log_message_to_expression = lambda message: message


def log(message: str, frame: FrameType) -> None:
    """Write what ``message`` says of ``frame`` to the console."""
    if not _rate.allows():
        return
    with guard.evaluating():
        text = _compiled(message).text(frame)
    _write(text)


@functools.lru_cache(maxsize=256)
def _compiled(message: str) -> Any:
    from zentracer.control.log_message import LogMessage  # no program without log points needs it

    return LogMessage(message)


def _write(text: str) -> None:
    debugger = sys.modules["pydevd"].get_global_debugger()
    if debugger is not None:
        debugger.writer.add_command(debugger.cmd_factory.make_io_message(text + os.linesep, "1"))


class _Rate:
    """Counts the lines of the running second, and says how many were left out."""

    def __init__(self) -> None:
        self._lock = renewed(self, "_lock", threading.Lock)
        self._second = 0
        self._said = 0
        self._left_out = 0

    def allows(self) -> bool:
        """Count a line; return whether it may be sent."""
        second = int(time.monotonic())
        with self._lock:
            if second != self._second:
                self._second, self._said = second, 0
                self._tell()
            self._said += 1
            if self._said <= MOST_A_SECOND:
                return True
            self._left_out += 1
            return False

    def forked(self) -> None:
        """Be that of a forked child: its parent says what it has left out."""
        self._left_out = 0

    def flush(self) -> None:
        """Say at the end of the program what was left out last."""
        with self._lock:
            self._tell()

    def _tell(self) -> None:
        if self._left_out:
            _write(
                f"… {self._left_out:,} more (over {MOST_A_SECOND} lines a second; 'every 100 hits' "
                "or 'every 2 s' as the hit condition of a log point thins it out)"
            )
            self._left_out = 0


_rate = _Rate()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_rate.forked)
