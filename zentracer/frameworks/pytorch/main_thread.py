"""Work that only the main thread can do, asked for by another one.

RUNS IN the training process. Modes belong to a thread, and the editor's requests arrive on ours.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import types
from collections import deque
from typing import Any, Callable

import torch

_RETRY_SECONDS = 0.05
_DEPTH = 4
_DELICATE = (
    torch.overrides.__file__,
    os.path.join(os.path.dirname(torch.__file__), "utils", "_device.py"),
    os.path.join(os.path.dirname(torch.__file__), "_dynamo", ""),
    os.path.join(os.path.dirname(__file__), ""),
)
"""Files that push and pop modes one by one."""
_PENDING = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_waiting: deque[Callable[[], None]] = deque()
_is_timed = False
"""Whether a timer will ask again; one is enough for all that wait."""


def on_main_thread(action: Callable[[], None]) -> None:
    """Run ``action`` on the main thread: now, or between two of its bytecodes."""
    if threading.current_thread() is threading.main_thread():
        action()
        return
    _waiting.append(action)
    _ask()


def soon_on_main_thread(action: Callable[[], None]) -> None:
    """Run ``action`` on the main thread a little later, when it does something else."""
    _waiting.append(action)
    _ask_later()


def _ask() -> None:
    if ctypes.pythonapi.Py_AddPendingCall(_run_waiting, None):  # the queue is full
        _ask_later()


def _ask_later() -> None:
    global _is_timed
    if _is_timed:
        return
    _is_timed = True
    timer: Any = threading.Timer(_RETRY_SECONDS, _ask_again)
    timer.daemon = True
    timer.pydev_do_not_trace = timer.is_pydev_daemon_thread = True
    timer.start()


def _ask_again() -> None:
    global _is_timed
    _is_timed = False
    _ask()


@_PENDING
def _run_waiting(_: object) -> int:
    if _is_delicate(sys._getframe().f_back):
        _ask_later()
        return 0
    for _turn in range(len(_waiting)):  # what is added meanwhile asks for itself
        _waiting.popleft()()
    return 0


def _is_delicate(frame: types.FrameType | None) -> bool:
    """Tell whether the interrupted code may be in the middle of changing the stack of modes."""
    for _ in range(_DEPTH):
        if frame is None:
            break
        if frame.f_code.co_filename.startswith(_DELICATE):
            return True
        frame = frame.f_back
    return False


def _forked() -> None:
    """The timer is gone with the parent's threads, and what waits is the parent's."""
    global _is_timed
    _is_timed = False
    _waiting.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
