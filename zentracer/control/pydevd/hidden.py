"""Our frames are never seen: not in stacks, not while stepping, whatever justMyCode says.

RUNS IN the training process.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Callable, Tuple

import zentracer


def own_folders() -> Tuple[str, ...]:
    """Folders whose code is ours, each with a separator at its end."""
    folder = os.path.dirname(os.path.abspath(zentracer.__file__))
    return tuple({os.path.join(path, "") for path in (folder, os.path.realpath(folder))})


def install(pydevd: Any, _notify: Callable[..., None]) -> None:
    """Make pydevd treat our files as its own."""
    debugger_class = pydevd.PyDB
    original = debugger_class._internal_get_file_type
    pydev_file = sys.modules["_pydevd_bundle.pydevd_dont_trace_files"].PYDEV_FILE
    folders = own_folders()

    def _internal_get_file_type(self: Any, abs_real_path_and_basename: Tuple[str, ...]) -> Any:
        if abs_real_path_and_basename[0].startswith(folders):
            return pydev_file
        return original(self, abs_real_path_and_basename)

    debugger_class._internal_get_file_type = _internal_get_file_type
    _patch_step_in_notice(debugger_class, pydev_file)
    debugger = pydevd.get_global_debugger()
    if debugger is not None:  # attached later: pydevd may have judged our files already
        debugger.clear_dont_trace_start_end_patterns_caches()


def _patch_step_in_notice(debugger_class: Any, pydev_file: Any) -> None:
    """Do not advise ``justMyCode: false`` because a step has passed through our hooks."""
    original = debugger_class.notify_skipped_step_in_because_of_filters

    def notify_skipped_step_in_because_of_filters(self: Any, frame: Any) -> None:
        if self.get_file_type(frame) != pydev_file:
            original(self, frame)

    debugger_class.notify_skipped_step_in_because_of_filters = (
        notify_skipped_step_in_because_of_filters
    )
