"""Which tensor exceptions are armed in which debugged process.

The list is always sent as a whole: when it changes, and to every process that connects.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from zentracer.wire.messages import (
    BreakpointStatus,
    BreakpointStatuses,
    ExceptionFilter,
    SetExceptionFilters,
)
from zentracer_dap.features.wanted import LAUNCH, Ids, Wanted, told_apart
from zentracer_dap.peers.runtime import Runtime, RuntimeFailed

if TYPE_CHECKING:
    from zentracer_dap.run import Run

ANSWER_SECONDS = 5.0
"""How long a process may take to arm its filters before the editor is told so."""


class Arming:
    """The tensor exceptions of one debugged program."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.ids = Ids()
        self._baseline: tuple[Wanted, ...] = ()
        """What the editor ticked in the main session."""
        self._by_pid: dict[int, tuple[Wanted, ...]] = {}
        """What it ticked in the session of a child process, where that differs."""
        self._view: tuple[Wanted, ...] = ()
        """What was added outside the editor's own list."""

    # What is wanted

    def choose(self, wanted: tuple[Wanted, ...], pid: int | None) -> None:
        """Take over what the editor ticked, for one process or (None) for all."""
        if pid is None:
            self._baseline = wanted
        else:
            self._by_pid[pid] = wanted

    def choose_in_view(self, wanted: tuple[Wanted, ...]) -> None:
        """Take over what was added outside the editor's own list, for all processes."""
        self._view = told_apart(wanted)

    def all(self) -> tuple[Wanted, ...]:
        """Everything that is wanted in any process, armed or not."""
        ticked = (self._baseline, *self._by_pid.values())
        return tuple(
            dict.fromkeys(
                [*(item for items in ticked for item in items), *self._launched(), *self._view]
            )
        )

    def forget(self, pid: int) -> None:
        """Forget what was ticked for a process that is gone."""
        if self._by_pid.pop(pid, None) is not None:
            self._run.breakpoints.changed()

    # Sending

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
        self._run.breakpoints.report((await self.apply(runtime)).values())

    # Which processes

    def is_armed(self, runtime: Runtime) -> bool:
        """Whether tensor exceptions are for this process, by the option ``children``."""
        children = self._run.options.children
        if children == "all" or self.is_main(runtime):
            return True
        return children == "ranks" and self.rank(runtime) is not None

    def is_main(self, runtime: Runtime) -> bool:
        """Whether this is the process that was launched or attached to."""
        return runtime.pid == self._run.main_pid

    def rank(self, runtime: Runtime) -> int | None:
        """Return the rank that a process is, None for all others.

        A rank's DataLoader workers inherit its RANK, but their parent is a rank already.
        """
        hello = runtime.hello
        if hello is None or hello.rank is None:
            return None
        parents = (other.hello for other in self._run.link.runtimes)
        inherited = any(
            parent and parent.pid == hello.parent_pid and parent.rank == hello.rank
            for parent in parents
        )
        return None if inherited else hello.rank

    def _wanted_by(self, runtime: Runtime) -> SetExceptionFilters:
        if not self.is_armed(runtime):
            return SetExceptionFilters(filters=())
        ticked = self._by_pid.get(runtime.pid, self._baseline)
        wanted = dict.fromkeys([*self._launched(), *ticked, *self._view])
        filters = tuple(
            ExceptionFilter(
                id=self.ids.of(item), filter=item.filter, condition=item.whole_condition()
            )
            for item in wanted
            if item.enabled and item.is_offered
        )
        return SetExceptionFilters(filters=filters, precise=self._run.options.precise)

    def _launched(self) -> tuple[Wanted, ...]:
        return tuple(
            Wanted(LAUNCH, item.filter, item.condition) for item in self._run.options.break_on
        )
