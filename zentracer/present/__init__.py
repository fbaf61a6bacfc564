"""How values read in a debugger: summaries, children and pages.

RUNS IN the user's training process. No framework and no debugger is imported here; both are used
only if the process has loaded them.
"""

from __future__ import annotations

import sys
import threading
from typing import Any, Callable, Optional

_lock = threading.Lock()
_installed = False


def install(report: Optional[Callable[[str], None]] = None) -> None:
    """Present values our way in the pydevd of this process, from its first stop on.

    Nothing can be shown before a thread has stopped, so the start of the program does not wait
    for the imports.

    Args:
        report: Called with a sentence if this version of pydevd lacks what we lean on; values
            then read as in stock debugpy.
    """
    tracker = sys.modules["_pydevd_bundle.pydevd_suspended_frames"]._FramesTracker
    original = tracker.track

    def track(self: Any, *args: Any, **kwargs: Any) -> Any:
        tracker.track = original
        _install_once(report)
        return original(self, *args, **kwargs)

    tracker.track = track


def install_now() -> None:
    """Present values our way in the pydevd of this process.

    Raises:
        Exception: This version of pydevd lacks what we lean on.
    """
    from zentracer.control.pydevd import variables
    from zentracer.present import providers

    providers.register()
    variables.install()


def _install_once(report: Optional[Callable[[str], None]]) -> None:
    global _installed
    with _lock:
        if _installed:
            return
        _installed = True
        try:
            install_now()
        except Exception as error:  # another version of debugpy; stopping goes on without us
            if report is not None:
                report(f"ZenTracer cannot present values: {type(error).__name__}: {error}")
