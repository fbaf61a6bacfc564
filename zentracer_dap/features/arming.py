"""Which tensor exceptions are armed in which debugged process.

The list is always sent as a whole: when it changes, and to every process that connects.
"""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING

from zentracer.wire.messages import (
    BreakpointStatus,
    BreakpointStatuses,
    ExceptionFilter,
    Notice,
    SetExceptionFilters,
)
from zentracer_dap.launch import BreakOn
from zentracer_dap.peers.runtime import Runtime, RuntimeFailed
from zentracer_dap.protocol.messages import Json

if TYPE_CHECKING:
    from zentracer_dap.run import Run

ANSWER_SECONDS = 5.0
"""How long a process may take to arm its filters before the editor is told so."""

_FIRST_ID = 1_000_000
"""Far above the ids that pydevd gives to breakpoints, which count from 0."""


class Arming:
    """The tensor exceptions of one debugged program."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._baseline: tuple[BreakOn, ...] = ()
        """What the editor ticked in the main session."""
        self._by_pid: dict[int, tuple[BreakOn, ...]] = {}
        """What it ticked in the session of a child process, where that differs."""
        self._ids: dict[BreakOn, int] = {}
        self._numbers = itertools.count(_FIRST_ID)
        self._told: dict[int, BreakpointStatus] = {}
        """What the editor believes about each breakpoint that it set."""

    def choose(self, wanted: tuple[BreakOn, ...], pid: int | None) -> list[int]:
        """Take over what the editor ticked, for one process or (None) for all; returns ids."""
        if pid is None:
            self._baseline = wanted
        else:
            self._by_pid[pid] = wanted
        return [self._id(item) for item in wanted]

    async def apply(self, runtime: Runtime) -> dict[int, BreakpointStatus]:
        """Send the whole list to one process; returns what became of each breakpoint."""
        wanted = self._wanted_by(runtime)
        try:
            answer: BreakpointStatuses = await runtime.request(
                "set_exception_filters", wanted, ANSWER_SECONDS
            )
        except RuntimeFailed as failure:
            message = f"Process {runtime.pid} did not take this breakpoint: {failure}"
            return {
                item.id: BreakpointStatus(id=item.id, verified=False, message=message)
                for item in wanted.filters
            }
        return {status.id: status for status in answer.breakpoints}

    async def apply_to(self, pid: int | None) -> dict[int, BreakpointStatus]:
        """Send the list to one process, or (None) to all: the main process's word counts then."""
        runtimes = [r for r in self._run.link.runtimes if pid is None or r.pid == pid]
        runtimes.sort(key=lambda runtime: not self.is_main(runtime))
        answers = await asyncio.gather(*(self.apply(runtime) for runtime in runtimes))
        statuses: dict[int, BreakpointStatus] = {}
        for answer in answers:
            statuses = {**answer, **statuses}
        return statuses

    async def welcome(self, runtime: Runtime) -> None:
        """Arm a process that has just connected, and correct what the editor believes."""
        for status in (await self.apply(runtime)).values():
            self.report(status)

    def told(self, status: BreakpointStatus) -> None:
        """Note what a response says about a breakpoint; a mistake is said in the console too."""
        self._told[status.id] = status
        if not status.verified and status.message and self._run.link.runtimes:
            self._run.say_once(status.message)

    def report(self, status: BreakpointStatus) -> None:
        """Correct what the editor believes about a breakpoint."""
        known = self._told.get(status.id)
        if known is None:  # armed by the launch configuration: there is only the console
            if not status.verified and status.message:
                self._run.say_once(status.message)
        elif (known.verified, known.message) != (status.verified, status.message):
            self.told(status)
            body: Json = {"reason": "changed", "breakpoint": as_dap(status)}
            self._run.editor_event("breakpoint", body)

    def knows(self, number: int) -> bool:
        """Whether ``number`` is the id of a tensor exception."""
        return number in self._ids.values()

    def notice(self, notice: Notice) -> None:
        """Show what the runtime says, on the breakpoint that it concerns too."""
        self._run.say_once(notice.message)
        if notice.breakpoint_id in self._told:
            self.report(
                BreakpointStatus(id=notice.breakpoint_id, verified=False, message=notice.message)
            )

    def is_armed(self, runtime: Runtime) -> bool:
        """Whether tensor exceptions are for this process, by the option ``children``."""
        children = self._run.options.children
        if children == "all" or self.is_main(runtime):
            return True
        return children == "ranks" and self._is_rank(runtime)

    def is_main(self, runtime: Runtime) -> bool:
        """Whether this is the process that was launched or attached to."""
        return runtime.pid == self._run.main_pid

    def _is_rank(self, runtime: Runtime) -> bool:
        """A rank's DataLoader workers inherit its RANK, but their parent is a rank already."""
        hello = runtime.hello
        if hello is None or hello.rank is None:
            return False
        parents = (other.hello for other in self._run.link.runtimes)
        return not any(
            parent and parent.pid == hello.parent_pid and parent.rank == hello.rank
            for parent in parents
        )

    def _wanted_by(self, runtime: Runtime) -> SetExceptionFilters:
        options = self._run.options
        if not self.is_armed(runtime):
            return SetExceptionFilters(filters=())
        ticked = self._by_pid.get(runtime.pid, self._baseline)
        wanted = dict.fromkeys([*options.break_on, *ticked])
        filters = tuple(
            ExceptionFilter(id=self._id(item), filter=item.filter, condition=item.condition)
            for item in wanted
        )
        return SetExceptionFilters(filters=filters, precise=options.precise)

    def _id(self, item: BreakOn) -> int:
        if item not in self._ids:
            self._ids[item] = next(self._numbers)
        return self._ids[item]


def as_dap(status: BreakpointStatus) -> Json:
    """Return a DAP ``Breakpoint``."""
    breakpoint: Json = {"id": status.id, "verified": status.verified}
    if status.message:
        breakpoint["message"] = status.message
    return breakpoint
