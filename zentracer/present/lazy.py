"""Compute what the user asked for by a click, without ever hanging the debugger.

RUNS IN the user's training process, on a thread of its own: the stopped thread must stay able to
answer. A property that waits for a thread which is stopped too would otherwise never return.
"""

from __future__ import annotations

import contextvars
import threading
from typing import Any, Callable

from zentracer.observe.quiet import torch_if_loaded
from zentracer.observe.stats import error_text
from zentracer.present.rows import Lazy, Text

BUDGET = 0.5
"""Seconds before a computation is given up."""
BLOCKED = (
    f"given up after {BUDGET:g} s: it seems to wait for another thread, and all threads are stopped"
)


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
    if not row.outcome.done.wait(BUDGET):
        return Text(BLOCKED)
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
