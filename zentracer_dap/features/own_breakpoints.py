"""Breakpoints of the editor's own lists that the runtimes serve: by name, and on data.

Each list goes to the runtimes as a whole: when it changes, and to a process that connects.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, Callable

from zentracer.wire.messages import BreakpointStatus, BreakpointStatuses
from zentracer_dap.features.breakpoint_list import NOT_CONNECTED, as_dap
from zentracer_dap.peers.runtime import Runtime, RuntimeFailed
from zentracer_dap.protocol.messages import Json

if TYPE_CHECKING:
    from zentracer_dap.run import Run
    from zentracer_dap.session import Session

ANSWER_SECONDS = 5.0
"""How long a process may take to arm a list before the editor is told so."""
LINK_SECONDS = 3.0
"""How long an answer waits for the training process to connect."""


class Numbers:
    """Ids of breakpoints, stable for as long as the session lasts."""

    def __init__(self, first: int) -> None:
        self._numbers = itertools.count(first)
        self._known: dict[Hashable, int] = {}
        self._given: set[int] = set()

    def of(self, wanted: Iterable[Hashable]) -> list[int]:
        """Return an id for each; equal ones are told apart by their order."""
        seen: dict[Hashable, int] = {}
        return [self._of(item, seen) for item in wanted]

    def _of(self, item: Hashable, seen: dict[Hashable, int]) -> int:
        copy = seen[item] = seen.get(item, -1) + 1
        key = (item, copy)
        if key not in self._known:
            self._known[key] = next(self._numbers)
            self._given.add(self._known[key])
        return self._known[key]

    def __contains__(self, number: object) -> bool:
        return number in self._given


class OwnBreakpoints:
    """One list of one debugged program.

    Args:
        run: the program.
        request: the name of the request that sets the list.
        body_for: makes the arguments for a process; None if the list is not for it.
    """

    def __init__(self, run: Run, request: str, body_for: Callable[[Runtime], Any]) -> None:
        self._run = run
        self._request = request
        self._body_for = body_for
        self._told: dict[int, BreakpointStatus] = {}
        self._said: dict[tuple[int, int], BreakpointStatus] = {}
        """By process and breakpoint, what its session has been told since the list was set."""
        self.on_told: Callable[[], None] = lambda: None
        """Called when something is known of a breakpoint that was not known before."""
        self.is_shown_apart: Callable[[int], bool] = lambda number: False
        """Whether a breakpoint is in no list that DAP's ``breakpoint`` event is about."""

    def told(self, number: int) -> BreakpointStatus | None:
        """Return what is known of a breakpoint."""
        return self._told.get(number)

    def restarted(self) -> None:
        """Forget what was known: the program begins anew."""
        self._told.clear()
        self._said.clear()
        self.on_told()

    def ended(self, number: int, message: str) -> None:
        """Tell the editor's main session that a breakpoint cannot be hit any more."""
        status = BreakpointStatus(id=number, verified=False, message=message)
        self._told[number] = status
        self._run.editor_event("breakpoint", {"reason": "changed", "breakpoint": as_dap(status)})

    async def arm(self, session: Session, *, waits: bool) -> dict[int, BreakpointStatus]:
        """Send the list to the processes of ``session``; returns what became of each breakpoint.

        The root session speaks for all processes, and the main one's word counts then.
        """
        if waits:
            await self._connected()
        run, pid = self._run, None if session.is_root else session.pid
        runtimes = [r for r in run.link.runtimes if pid is None or r.pid == pid]
        runtimes.sort(key=lambda runtime: not run.arming.is_main(runtime))
        answers = await asyncio.gather(*(self.apply(runtime) for runtime in runtimes))
        statuses: dict[int, BreakpointStatus] = {}
        for answer in answers:
            statuses = {**answer, **statuses}
        self._told.update(statuses)
        self.on_told()
        return statuses

    async def apply(self, runtime: Runtime) -> dict[int, BreakpointStatus]:
        """Send the list to one process."""
        body = self._body_for(runtime)
        try:
            answer: BreakpointStatuses = await runtime.request(self._request, body, ANSWER_SECONDS)
        except RuntimeFailed as failure:
            message = f"Process {runtime.pid} did not take this breakpoint: {failure}"
            return {
                item.id: BreakpointStatus(id=item.id, verified=False, message=message)
                for item in body.breakpoints
            }
        return {status.id: status for status in answer.breakpoints}

    async def welcome(self, runtime: Runtime) -> None:
        """Arm a process that has just connected, and correct what the editor believes."""
        if not self._body_for(runtime).breakpoints:
            return
        for status in (await self.apply(runtime)).values():
            known = self._told.get(status.id)
            if known is None or not known.verified:  # one process that has it is enough
                self.settled(runtime, status)

    def settled(self, runtime: Runtime, status: BreakpointStatus) -> None:
        """Tell the editor what has become of a breakpoint.

        A process without a session of its own is heard through the main one's, and only with good
        news: that it lacks what another process has is no news at all.
        """
        run = self._run
        session = run.session_of(runtime.pid)
        is_own = run.arming.is_main(runtime) or (session is not None and not session.is_root)
        key = (runtime.pid, status.id)
        if session is None or self._said.get(key, self._told.get(status.id)) == status:
            return
        if not is_own and not status.verified:
            return
        self._told[status.id] = self._said[key] = status
        self.on_told()
        if not self.is_shown_apart(status.id):
            body: Json = {"reason": "changed", "breakpoint": as_dap(status)}
            session.editor.channel.event("breakpoint", body)
        if not status.verified and not status.pending and status.message:
            run.notices.say_once(status.message)

    def why_not(self, session: Session) -> str:
        """Return why no process has answered for a breakpoint."""
        run = self._run
        if run.unavailable is not None:
            return run.unavailable
        if not any(session.is_root or r.pid == session.pid for r in run.link.runtimes):
            return NOT_CONNECTED
        return (
            "This breakpoint is not armed in this child process; "
            '"children": "all" in the "zentracer" object of the launch configuration arms it in '
            "every process."
        )

    async def _connected(self) -> None:
        """Wait a bounded time for the training process."""
        if self._run.unavailable is None:
            arrived = asyncio.ensure_future(self._run.link.arrived.wait())
            await asyncio.wait([arrived], timeout=LINK_SECONDS)
            arrived.cancel()


def answered(
    numbers: Iterable[int], statuses: dict[int, BreakpointStatus], why_not: str
) -> list[Json]:
    """Return DAP breakpoints in the order of ``numbers``."""
    return [
        as_dap(
            statuses.get(number)
            or BreakpointStatus(id=number, verified=False, message=why_not, pending=True)
        )
        for number in numbers
    ]
