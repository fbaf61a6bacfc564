"""Watches: which expression is evaluated where, and how many stops there were.

RUNS IN the training process. debugpy knows a value by its identity: the row that it makes of a
watch has the name under which the value was shown first, so the expression is noted here.
"""

from __future__ import annotations

import os
import sys
import threading
from types import FrameType
from typing import Any, Callable, NamedTuple, Optional

from zentracer.watches.clock import clock


class Asked(NamedTuple):
    """An ``evaluate`` request that is being answered on this thread."""

    expression: str
    frame: FrameType
    context: str
    thread: int
    """The stopped thread."""


_PLAIN = (bool, int, float, complex)
"""Python's own numbers have a history too, but read as Python writes them: programs parse that."""
_local = threading.local()
_tell: Optional[Callable[..., None]] = None


def install(pydevd: Any, notify: Callable[..., None]) -> None:
    """Note each evaluation, and count the stops that the editor is told of."""
    global _tell
    _tell = notify
    _count_stops(pydevd.ThreadsSuspendedSingleNotification)
    api: Any = sys.modules["_pydevd_bundle.pydevd_api"]
    original = api.internal_evaluate_expression_json

    def internal_evaluate_expression_json(py_db: Any, request: Any, thread_id: str) -> None:
        _local.asked = _asked(py_db, request.arguments, thread_id)
        try:
            original(py_db, request, thread_id)
        finally:
            _local.asked = None

    api.internal_evaluate_expression_json = internal_evaluate_expression_json
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=clock.forget)


def asked() -> Optional[Asked]:
    """Return the evaluation that is being answered on the calling thread."""
    return getattr(_local, "asked", None)


def change_of(value: Any) -> str:
    """Return how the value of the watch that is being evaluated differs from the last stop."""
    now = asked()
    if now is None:
        return ""
    try:
        from zentracer.watches.table import watches  # not before the first watch

        text = watches.see(now.expression, now.frame, now.thread, value)
        return "" if type(value) in _PLAIN else text
    except Exception as error:  # the value itself can be shown in any case
        if _tell is not None:
            why = f"{type(error).__name__}: {error}"
            _tell(f"ZenTracer could not tell what changed in a watch. Please report: {why}")
        return ""


def _asked(py_db: Any, arguments: Any, thread_id: str) -> Optional[Asked]:
    if arguments.frameId is None:
        return None
    try:
        frame = py_db.find_frame(thread_id, arguments.frameId)
    except Exception:  # the thread has gone on; pydevd answers that itself
        return None
    if frame is None:
        return None
    thread = threading.get_ident()
    return Asked(arguments.expression, frame, arguments.context or "", thread)


def _count_stops(notification_class: Any) -> None:
    original = notification_class.send_suspend_notification
    resume = notification_class.send_resume_notification

    def send_suspend_notification(self: Any, *args: Any, **kwargs: Any) -> Any:
        clock.stopped()  # before the editor can ask anything
        return original(self, *args, **kwargs)

    def send_resume_notification(self: Any, *args: Any, **kwargs: Any) -> Any:
        clock.resumed()
        return resume(self, *args, **kwargs)

    notification_class.send_suspend_notification = send_suspend_notification
    notification_class.send_resume_notification = send_resume_notification
