"""What the runtimes say over the link, handed to the features that it concerns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zentracer.wire.messages import Advice, BreakpointStatus, FrameworkLoaded, Notice, Step
from zentracer_dap.peers.runtime import Runtime

if TYPE_CHECKING:
    from zentracer_dap.run import Run


def listen(run: Run) -> None:
    """Let ``run`` hear its runtimes."""
    run.link.on_hello = lambda runtime: _came(run, runtime)
    run.link.on_gone = lambda runtime: _gone(run, runtime)
    run.link.on_event = lambda runtime, body: _said(run, runtime, body)
    run.link.on_problem = run.notices.tell


def _came(run: Run, runtime: Runtime) -> None:
    if run.main_pid is None:
        run.main_pid = runtime.pid
    run.notices.welcome(runtime)
    run.processes.changed()
    run.spawn(run.arming.welcome(runtime))
    run.spawn(run.eager.welcome(runtime))
    run.spawn(run.function_breakpoints.list.welcome(runtime))
    run.spawn(run.data_breakpoints.list.welcome(runtime))


def _gone(run: Run, runtime: Runtime) -> None:
    run.arming.forget(runtime.pid)
    run.function_breakpoints.forget(runtime.pid)
    run.data_breakpoints.forget(runtime.pid)
    run.steps.gone(runtime.pid)
    run.processes.gone(runtime)


def _said(run: Run, runtime: Runtime, body: Any) -> None:
    if isinstance(body, Advice):
        run.findings.advise(body, runtime.pid)
    elif isinstance(body, BreakpointStatus):
        lists = (run.function_breakpoints, run.data_breakpoints)
        settles = next((one for one in lists if one.knows(body.id)), run.function_breakpoints)
        settles.list.settled(runtime, body)
    elif isinstance(body, Notice):
        run.notices.heard(body)
    elif isinstance(body, Step):
        run.steps.seen(runtime, body)
    elif isinstance(body, FrameworkLoaded):
        run.processes.loaded(runtime, body)
