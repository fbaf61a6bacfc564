"""Compute what the user asked for by a click, without ever hanging the debugger.

RUNS IN the user's training process, on a thread of its own: the stopped thread must stay able to
answer. A property may wait for a thread which is stopped too; the stopped threads are let run
while the click waits for its answer (control/pydevd/evaluations.py).
"""

from __future__ import annotations

import contextvars
import threading
import time
from typing import Any, Callable

from zentracer.observe.quiet import torch_if_loaded
from zentracer.observe.stats import error_text
from zentracer.present.rows import Lazy, Text

BUDGET = 9.0
"""Seconds before a computation is given up; less than an evaluation may take."""
BLOCKED = "given up after {:g} s: it seems to wait for something that does not happen here"
_POLL = 0.05
"""Seconds between two chances to be interrupted, which not every thread has while it waits."""


class _Outcome:
    """What became of one computation; shared with the thread that runs it."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.value: Any = None


def outcome_of(row: Lazy) -> Any:
    """The computed value, or a row that says why there is none.

    A computation that was given up is not started again: it may still be running.
    """
    if row.outcome is None:
        row.outcome = _start(row.compute)
    end = time.monotonic() + BUDGET
    while not row.outcome.done.wait(_POLL):
        if time.monotonic() >= end:
            return Text(BLOCKED.format(BUDGET))
    return row.outcome.value


def _start(compute: Callable[[], Any]) -> _Outcome:
    outcome = _Outcome()
    context = contextvars.copy_context()
    torch = torch_if_loaded()
    grad = torch is not None and torch.is_grad_enabled()

    def run() -> None:
        try:
            if torch is not None:
                torch.set_grad_enabled(grad)
            outcome.value = context.run(compute)
        except BaseException as error:  # user code; what it raises is the answer
            outcome.value = Text(f"raised {error_text(error)}")
        finally:
            outcome.done.set()

    thread = threading.Thread(target=run, name="zentracer-lazy", daemon=True)
    thread.pydev_do_not_trace = True  # type: ignore[attr-defined]
    thread.is_pydev_daemon_thread = True  # type: ignore[attr-defined]
    thread.start()
    return outcome
