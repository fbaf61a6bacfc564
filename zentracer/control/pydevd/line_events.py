"""Line breakpoints on Python 3.12 and later, where most of a hit's cost was pydevd's own callback.

RUNS IN the training process, in the callback of ``sys.monitoring``'s LINE events. Stock debugpy
1.8.22 looks up the code object by value at each line of a function that has a breakpoint, and goes
on doing so on the lines that have none. Here a line without a breakpoint is switched off, and one
with a false condition costs its condition.

Architecture invariant: our callback serves only while no thread steps, is stopped or is asked to
stop. Before such a thing begins pydevd calls ``update_monitor_events``, which puts its own callback
in place; stepping, pausing and what goes with them are never ours.
"""

from __future__ import annotations

import dis
import sys
import threading
from types import CodeType, FrameType
from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

from zentracer.control.pydevd import conditions, guard
from zentracer.fork_locks import renewed

_BACKENDS = (
    "_pydevd_sys_monitoring._pydevd_sys_monitoring_cython",
    "_pydevd_sys_monitoring._pydevd_sys_monitoring",
)
_REDUNDANT = "f_disable_next_line_if_match"
"""What pydevd's JUMP callback leaves in its thread-local for the LINE event after it."""
_MOST_PLANS = 10_000
_SUSPENDED = 2
"""pydevd's STATE_SUSPEND"""
_STEPS_NOT = -1
"""pydevd's ``pydev_step_cmd`` of a thread that does not step."""


def install(pydevd: Any, notify: Callable[..., None]) -> None:
    """Serve LINE events from now on whenever nothing but breakpoints is to be looked for."""
    if not guard.uses_monitoring():
        return
    facade: Any = guard.monitoring()
    backend: Any = next(sys.modules[name] for name in _BACKENDS if name in sys.modules)
    switch = _Switch(pydevd, backend._thread_local_info, notify)
    update = facade.update_monitor_events
    wait = pydevd.PyDB.do_wait_suspend

    def update_monitor_events(suspend_requested: Optional[bool] = None) -> None:
        if suspend_requested:
            switch.give_back()
        update(suspend_requested)
        if not suspend_requested:
            switch.take_over()

    def do_wait_suspend(self: Any, *args: Any, **kwargs: Any) -> Any:
        switch.give_back()
        try:
            return wait(self, *args, **kwargs)
        finally:
            switch.take_over()

    for module in (facade, backend):  # pydevd calls the one, its own start_monitoring the other
        module.update_monitor_events = update_monitor_events
    pydevd.PyDB.do_wait_suspend = do_wait_suspend


class _Plan(NamedTuple):
    """What is to be done in one code object, as the breakpoints stand."""

    code: CodeType
    """Kept, so that its identity is not reused."""
    debugger: Any
    mtime: int
    """pydevd's count of changes of breakpoints and filters."""
    lines: Dict[int, Tuple[Optional[conditions.Gate], Any]]
    """Breakpoints by line, each with its gate if that has no effect but its answer."""
    loops: bool
    """Whether pydevd's JUMP callback serves such a line: the LINE event after it is redundant."""


class _Switch:
    """Puts our callback in the place of pydevd's, and back."""

    def __init__(self, pydevd: Any, local: Any, notify: Callable[..., None]) -> None:
        self._pydevd = pydevd
        self._local = local
        self._notify = notify
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
        self._tool = self._monitoring.DEBUGGER_ID
        self._event = self._monitoring.events.LINE
        self._callback = self._made()
        self._theirs: Any = None
        self._failed = False
        self._lock = renewed(self, "_lock", threading.RLock)

    def take_over(self) -> None:
        """Serve LINE events if nothing but breakpoints is to be looked for."""
        debugger = self._pydevd.get_global_debugger()
        with self._lock:
            if self._failed or debugger is None or not _is_idle(debugger):
                return
            theirs = self._register(self._callback)
            if theirs is None:  # there are no breakpoints
                self._register(None)
            elif theirs is not self._callback:
                self._theirs = theirs

    def give_back(self) -> None:
        """Let pydevd serve LINE events, on every line."""
        with self._lock:
            if self._theirs is not None and self._register(self._theirs) is self._callback:
                self._monitoring.restart_events()

    def _register(self, callback: Any) -> Any:
        return self._monitoring.register_callback(self._tool, self._event, callback)

    def _give_up(self, error: Exception) -> None:
        self._failed = True
        self.give_back()
        self._notify(
            "ZenTracer leaves line breakpoints to debugpy, which takes longer for them: "
            f"{type(error).__name__}: {error}"
        )

    def _made(self) -> Callable[[CodeType, int], Any]:
        """Return the callback; what it needs at a hit is in variables of its own."""
        disable = self._monitoring.DISABLE
        holder: Any = sys.modules["_pydevd_bundle.pydevd_constants"].GlobalDebuggerHolder
        local, frame_of = self._local, sys._getframe
        plans: Dict[int, _Plan] = {}

        def line_event(code: CodeType, line: int) -> Any:
            try:
                debugger = holder.global_dbg
                plan = plans.get(id(code))
                if plan is None or plan[1] is not debugger or plan[2] != debugger.mtime:
                    if debugger is None or debugger.pydb_disposed:
                        return disable
                    if len(plans) >= _MOST_PLANS:
                        plans.clear()
                    plan = plans[id(code)] = _plan(code, frame_of(1), debugger)
                if plan[4] and _is_redundant(local, code, line):
                    return None
                reached = plan[3].get(line)
                if reached is None:
                    return None if plan[4] else disable
                gate = reached[0]
                if gate is not None and not gate(frame_of(1)):
                    return None
            except Exception as error:  # ours: the program and its breakpoints go on without us
                self._give_up(error)
                return None
            local.__dict__.pop(_REDUNDANT, None)
            return _reach(debugger, reached[1], frame_of(1), has_passed=gate is not None)

        return line_event


def _is_idle(debugger: Any) -> bool:
    """Tell whether no thread steps, is stopped or is asked to stop, and no template is debugged."""
    if debugger.has_plugin_line_breaks:
        return False
    infos = [getattr(thread, "additional_info", None) for thread in threading.enumerate()]
    return not any(
        info is not None and (info.pydev_step_cmd != _STEPS_NOT or info.pydev_state == _SUSPENDED)
        for info in infos
    )


def _plan(code: CodeType, frame: FrameType, debugger: Any) -> _Plan:
    lines: Dict[int, Tuple[Optional[conditions.Gate], Any]] = {}
    files: Any = sys.modules["pydevd_file_utils"]
    paths = files.get_abs_path_real_path_and_base_from_file(code.co_filename)
    by_line = debugger.breakpoints.get(paths[1])
    if by_line and _is_seen(code, frame, debugger, paths):
        for line in {line for _, line in dis.findlinestarts(code) if line is not None}:
            breakpoint_ = by_line.get(line)
            if breakpoint_ is not None:
                lines[line] = (_pure_gate(breakpoint_), breakpoint_)
    return _Plan(code, debugger, debugger.mtime, lines, _loops(code, lines))


def _is_seen(code: CodeType, frame: FrameType, debugger: Any, paths: Any) -> bool:
    """Tell whether debugpy's rules (justMyCode and others) let breakpoints in this code stop."""
    hook = sys.modules["_pydevd_bundle.pydevd_dont_trace"].should_trace_hook
    if debugger.get_file_type(frame, paths) is not None or (hook and not hook(code, paths[0])):
        return False
    return not (
        debugger.is_files_filter_enabled and debugger.apply_files_filter(frame, paths[0], False)
    )


def _pure_gate(breakpoint_: Any) -> Optional[conditions.Gate]:
    """Return the gate of a breakpoint that has a condition and nothing else."""
    if not breakpoint_.condition or breakpoint_.hit_condition or breakpoint_.expression is not None:
        return None
    return conditions.gate_of(breakpoint_)


def _loops(code: CodeType, lines: Dict[int, Any]) -> bool:
    if not lines or sys.version_info >= (3, 13):  # pydevd has no use for JUMP events there
        return False
    line_at = {start: line for start, line in dis.findlinestarts(code)}
    return any(
        line_at.get(each.argval) in lines
        and _pydevd_line(code, each.offset) == _pydevd_line(code, each.argval)
        for each in dis.get_instructions(code)
        if "JUMP_BACKWARD" in each.opname
    )


def _pydevd_line(code: CodeType, offset: int) -> Optional[int]:
    """Return the line of an instruction as pydevd's JUMP callback takes it.

    For the first instruction of a line that is mostly the line before it: the body of a ``while``
    loop is taken for a part of its condition, from where the loop jumps back.
    """
    ranges: Any = code.co_lines()  # type: ignore[attr-defined]
    return next((line for start, end, line in ranges if start <= offset <= end and line), None)


def _is_redundant(local: Any, code: CodeType, line: int) -> bool:
    """Tell whether pydevd's JUMP callback has served this arrival on the line already."""
    return local.__dict__.pop(_REDUNDANT, None) == (code.co_filename, line)


def _reach(debugger: Any, breakpoint_: Any, frame: FrameType, *, has_passed: bool) -> None:
    """Stop at a breakpoint as pydevd's ``_stop_on_breakpoint`` does, if it has to stop."""
    thread: Any = threading.current_thread()
    if getattr(thread, "is_pydev_daemon_thread", False) or not guard.suspend_monitoring():
        return
    guard.resume_monitoring()
    info = debugger.set_additional_thread_info(thread)
    if info.pydev_state != _SUSPENDED:  # else another thread has stopped the program just now
        if not has_passed and not conditions.gate_of(breakpoint_)(frame):
            return
        info.hit_breakpoint_ids = [breakpoint_.breakpoint_id]
        constants: Any = sys.modules["_pydevd_bundle.pydevd_comm_constants"]
        debugger.set_suspend(
            thread,
            constants.CMD_SET_BREAK,
            suspend_other_threads=breakpoint_.suspend_policy == "ALL",
        )
    info.trace_suspend_type = "sys_monitor"
    debugger.do_wait_suspend(thread, frame, "line", None)
