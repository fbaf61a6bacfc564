"""Everything that leans on pydevd's internals, one concern a file, each with a contract test.

RUNS IN the training process, once pydevd is loaded there.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Callable, List, Tuple

from zentracer.control.pydevd import (
    assignment,
    conditions,
    function_gate,
    hidden,
    latency,
    line_events,
    lines,
    logpoints,
    names,
    native_threads,
    pauses,
    questions,
    stack,
    turns,
    watchdog,
    watching,
    ways,
    zip_files,
)

Notify = Callable[..., None]

_PATCHES: Tuple[Tuple[str, Callable[[Any, Notify], None]], ...] = (
    ("hiding ZenTracer's own frames", hidden.install),
    ("answering without delay", latency.install),
    ("conditions of line breakpoints", conditions.install),
    ("function breakpoints", function_gate.install),
    ("log points", logpoints.install),
    ("the cost of line breakpoints", line_events.install),
    ("breakpoints in compiled code", lines.install),
    ("breakpoints on native threads", native_threads.install),
    ("taking a pause back", pauses.install),
    ("evaluations that wait", questions.install),
    ("conditions that take long", turns.install),
    ("zt in evaluations", names.install),
    ("setting tensor elements", assignment.install),
    ("the forward call in a stack of backward", stack.install),
    ("what changed in watches", watching.install),
    ("what a row stands for", ways.install),
    ("breakpoints in zip files", zip_files.install),
)


def install(notify: Notify) -> List[str]:
    """Improve the pydevd of this process; a part that does not fit steps aside.

    Args:
        notify: ``notice(message, breakpoint_id=None)``, for what happens later.

    Returns:
        A sentence for each part that could not be installed.
    """
    watchdog.report_to(notify)
    pydevd = _running_pydevd()
    if pydevd is None:
        return []
    problems: List[str] = []
    for what, patch in _PATCHES:
        try:
            patch(pydevd, notify)
        except Exception as error:  # another version of debugpy may lack what we lean on
            problems.append(
                f"ZenTracer cannot improve {what} with this version of debugpy: "
                f"{type(error).__name__}: {error}"
            )
    return problems


def _running_pydevd() -> Any:
    """Return pydevd as it runs.

    In a child process it is started as a script: then it is ``__main__``, beside a second copy that
    its own modules have imported, until it gives that name to the user's program.
    """
    main = sys.modules.get("__main__")
    if os.path.basename(getattr(main, "__file__", None) or "") == "pydevd.py":
        return main
    return sys.modules.get("pydevd")
