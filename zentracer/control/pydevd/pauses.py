"""A pause that is taken back before it took effect leaves nothing behind.

RUNS IN the training process. pydevd remembers a pause until a thread stops. When the program is
let go on first (as ranks are that were to be held while they sat in a native call), the next
breakpoint would be reported as a pause of whichever thread stops first.
"""

from __future__ import annotations

from typing import Any, Callable


def install(pydevd: Any, _notify: Callable[..., None]) -> None:
    """Let a resumption take the remembered pause back."""
    if "_pause_requested" not in pydevd.AbstractSingleNotificationBehavior.__slots__:
        raise TypeError("pydevd remembers a pause elsewhere")
    from _pydevd_bundle.pydevd_api import PyDevdAPI

    original = PyDevdAPI.request_resume_thread

    def request_resume_thread(self: Any, thread_id: str) -> Any:
        debugger = pydevd.get_global_debugger()
        if debugger is not None:
            debugger._threads_suspended_single_notification._pause_requested = False
        return original(self, thread_id)

    PyDevdAPI.request_resume_thread = request_resume_thread
