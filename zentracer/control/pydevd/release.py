"""The other threads run while a stopped thread computes something, and are then held again.

RUNS IN the training process. pydevd can resume the others too, but tells the editor ``continued``
and then ``stopped`` once more, so that the editor forgets the stop; and a breakpoint that another
thread meets then holds all threads again, which makes the evaluation wait for ever. Here the
editor hears nothing, and what another thread meets is a stop of its own that is reported once the
user resumes.

Threads, and who may hold whom: the *holder* is the stopped thread whose evaluation let the others
go; until it is resumed it alone is the stop. Threads that are *reported* as stopped keep standing.
*Met* are those that met a stop of their own while the holder stands: they stand silently.
"""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Set, Tuple


@dataclass
class _Held:
    """Who stands and why, for one debugger."""

    holder: Any = None
    """Thread whose evaluation let the others run, until it is resumed."""
    told: threading.Event = field(default_factory=lambda: _set_event())
    """Set while no stop is shown that the user has ended: the editor knows of the end."""
    quiet: Set[str] = field(default_factory=lambda: set())
    """Ids of threads that leave or enter their stop without the editor being told."""
    reported: Set[str] = field(default_factory=lambda: set())
    """Ids of threads that the editor was told of as stopped."""
    met: Dict[Any, Tuple[Tuple[Any, ...], Dict[str, Any]]] = field(default_factory=lambda: {})
    """Thread -> what its own stop is to be called with, once the holder is resumed."""


def install(pydevd: Any, _notify: Callable[..., None]) -> None:
    """Let pydevd's stops know of threads that run for an evaluation."""
    _keep_stops(pydevd.PyDB)
    _keep_quiet(
        pydevd.AbstractSingleNotificationBehavior, pydevd.ThreadsSuspendedSingleNotification
    )
    _resume_at_once(sys.modules["_pydevd_bundle.pydevd_api"].PyDevdAPI)


def let_run(debugger: Any, thread: Any) -> bool:
    """Let every thread run but ``thread``, which stands; False if there is none to let go."""
    lifecycle = _lifecycle()
    with lifecycle.suspend_threads_lock:
        if not stands(thread) or not debugger.multi_threads_single_notification:
            return False
        held = _of(debugger)
        others = [other for other in _user_threads() if _may_run(held, thread, other)]
        if not others:
            return False
        held.holder = thread
        held.quiet.update(_id(other) for other in others if other.additional_info.is_in_wait_loop)
        for other in others:
            lifecycle.internal_run_thread(other, lifecycle.set_additional_thread_info)
    return True


def hold_again(debugger: Any, thread: Any) -> None:
    """Hold all threads but ``thread``, as before; nothing if the user has gone on meanwhile."""
    lifecycle = _lifecycle()
    with lifecycle.suspend_threads_lock:
        if stands(thread):
            lifecycle.suspend_all_threads(debugger, except_thread=thread)


def say_resumed(debugger: Any, thread: Any) -> None:
    """Tell the editor that the program goes on, although ``thread`` still has to come out.

    debugpy's adapter takes no other request before ``continue`` has its answer.
    """
    _notifications(debugger).on_thread_resume(_id(thread), thread)


def say_stopped_again(debugger: Any, thread: Any) -> None:
    """Tell of ``thread`` as stopped if it was paused before it came out."""
    with _lifecycle().suspend_threads_lock:
        paused = stands(thread)
    if paused and _id(thread) not in _notifications(debugger)._suspended_thread_id_to_thread:
        reason = sys.modules["_pydevd_bundle.pydevd_comm_constants"].CMD_THREAD_SUSPEND
        _notifications(debugger).on_thread_suspend(_id(thread), thread, reason)


def stands_behind(debugger: Any, thread: Any) -> bool:
    """Whether ``thread`` must not stop the program now, because another thread is the stop.

    Call it under ``suspend_threads_lock``. The thread is then to wait with all the others.
    """
    holder = _of(debugger).holder
    return holder is not None and holder is not thread and stands(holder)


def wait_until_told(debugger: Any) -> None:
    """Let the editor hear that the last stop is over before it hears of the next one."""
    _of(debugger).told.wait()


def that_met_a_stop(debugger: Any) -> List[str]:
    """Names of the threads that stand at a stop of their own, which is to be reported."""
    return [str(thread.name) for thread in list(_of(debugger).met)]


def forget_stop(debugger: Any, thread_id: str) -> None:
    """The user resumes this thread by itself: its own stop is over, and the editor may know."""
    held = _of(debugger)
    held.quiet.discard(thread_id)
    for thread in [other for other in held.met if _id(other) == thread_id]:
        del held.met[thread]


def _keep_stops(debugger_class: Any) -> None:
    set_suspend, do_wait_suspend = debugger_class.set_suspend, debugger_class.do_wait_suspend

    def set_suspend_or_stand(
        self: Any, thread: Any, stop_reason: int, *args: Any, **kwargs: Any
    ) -> None:
        if thread is threading.current_thread() and not kwargs.get("is_pause"):
            lifecycle = _lifecycle()
            with lifecycle.suspend_threads_lock:
                if stands_behind(self, thread):
                    lifecycle.mark_thread_suspended(thread, stop_reason)
                    _of(self).met[thread] = ((stop_reason, *args), kwargs)
                    return
        set_suspend(self, thread, stop_reason, *args, **kwargs)

    def do_wait_suspend_and_stop_later(self: Any, thread: Any, *args: Any, **kwargs: Any) -> None:
        info = thread.additional_info
        while True:
            as_met = info.hit_breakpoint_ids, info.trace_suspend_type, info.pydev_message
            try:
                do_wait_suspend(self, thread, *args, **kwargs)
            finally:
                _left(self, thread)
            stop = _of(self).met.pop(thread, None)
            if stop is None or self.pydb_disposed or not self.is_attached():
                return
            wait_until_told(self)
            info.hit_breakpoint_ids, info.trace_suspend_type, info.pydev_message = as_met
            set_suspend_or_stand(self, thread, *stop[0], **stop[1])

    debugger_class.set_suspend = set_suspend_or_stand
    debugger_class.do_wait_suspend = do_wait_suspend_and_stop_later


def _left(debugger: Any, thread: Any) -> None:
    held = _of(debugger)
    if held.holder is thread:
        held.holder = None


def _keep_quiet(behaviour: Any, single: Any) -> None:
    on_thread_resume, on_thread_suspend = behaviour.on_thread_resume, behaviour.on_thread_suspend
    send_suspend_notification = single.send_suspend_notification

    def on_thread_resume_unless_quiet(self: Any, thread_id: str, thread: Any) -> None:
        held = _of(self._py_db())
        if thread_id in held.quiet:
            held.quiet.discard(thread_id)
            with self._lock:
                self._suspended_thread_id_to_thread.pop(thread_id, None)
            return
        if thread_id not in self._suspended_thread_id_to_thread:  # said before
            return
        held.quiet.clear()  # the user resumes: what the others do is no secret any more
        on_thread_resume(self, thread_id, thread)
        if thread_id in held.reported:
            held.reported.discard(thread_id)
            held.told.set()

    def on_thread_suspend_again(self: Any, thread_id: str, *args: Any) -> None:
        _of(self._py_db()).quiet.discard(thread_id)
        on_thread_suspend(self, thread_id, *args)

    def send_suspend_notification_and_note(self: Any, thread_id: str, *args: Any) -> None:
        held = _of(self._py_db())
        held.reported.add(thread_id)
        held.told.clear()
        send_suspend_notification(self, thread_id, *args)

    behaviour.on_thread_resume = on_thread_resume_unless_quiet
    behaviour.on_thread_suspend = on_thread_suspend_again
    single.send_suspend_notification = send_suspend_notification_and_note


def _resume_at_once(api: Any) -> None:
    request_resume_thread = api.request_resume_thread

    def request_resume_thread_at_once(self: Any, thread_id: str) -> None:
        # One step: a thread that is held again between two of them would stay behind for ever.
        with _lifecycle().suspend_threads_lock:
            request_resume_thread(self, thread_id)

    api.request_resume_thread = request_resume_thread_at_once


def _set_event() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


def _may_run(held: _Held, thread: Any, other: Any) -> bool:
    if other is thread or other in held.met or getattr(other, "pydev_do_not_trace", None):
        return False
    return getattr(other, "additional_info", None) is not None and _id(other) not in held.reported


def stands(thread: Any) -> bool:
    """Whether ``thread`` is stopped and the user has not resumed it."""
    info = thread.additional_info
    return bool(info.is_in_wait_loop) and info.pydev_state == _lifecycle().STATE_SUSPEND


def _user_threads() -> List[Any]:
    return sys.modules["_pydevd_bundle.pydevd_utils"].get_non_pydevd_threads()


def _notifications(debugger: Any) -> Any:
    return debugger.threads_suspended_single_notification


def _id(thread: Any) -> str:
    return sys.modules["_pydevd_bundle.pydevd_constants"].get_thread_id(thread)


def _of(debugger: Any) -> _Held:
    held = getattr(debugger, "_zentracer_held", None)
    if held is None:
        held = debugger._zentracer_held = _Held()
    return held


def _lifecycle() -> Any:
    return sys.modules["_pydevd_bundle.pydevd_thread_lifecycle"]
