"""``setFunctionBreakpoints``: modules, operations and steps go to the runtimes, the rest is
Python's and goes to debugpy.

debugpy believes every name; whether the program has such a function is asked of the runtime.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Optional, cast

from zentracer.wire._body import body
from zentracer.wire.codec import WireError, decode
from zentracer.wire.messages import BreakpointStatus, FunctionBreakpoint, SetFunctionBreakpoints
from zentracer_dap.features.breakpoint_list import as_dap
from zentracer_dap.features.own_breakpoints import Numbers, OwnBreakpoints, answered
from zentracer_dap.peers.runtime import Runtime
from zentracer_dap.protocol import errors
from zentracer_dap.protocol.handlers import Overrides
from zentracer_dap.protocol.messages import Json, arguments_of, body_of

if TYPE_CHECKING:
    from zentracer_dap.run import Run
    from zentracer_dap.session import Session

KINDS = ("module", "backward", "op", "step")
PYTHON = "python"
_FIRST_ID = 2_000_000
"""Far above the ids of debugpy and of tensor exceptions."""


@body
class NamedBreakpoint:
    """One item of ``setFunctionBreakpoints``."""

    name: str
    condition: Optional[str] = None
    hitCondition: Optional[str] = None

    @property
    def kind(self) -> str:
        """What the name names."""
        kind, colon, _ = self.name.partition(":")
        kind = kind.strip()
        if kind == "step" and not colon:
            return kind
        return kind if colon and kind in KINDS else PYTHON

    def numbered(self, number: int) -> FunctionBreakpoint:
        """Return it as the runtime gets it."""
        kind = self.kind
        name = self.name if kind == PYTHON else self.name.partition(":")[2]
        return FunctionBreakpoint(
            id=number,
            kind=kind,
            name=name.strip(),
            condition=self.condition or None,
            hit_condition=self.hitCondition or None,
        )


@body
class SetNamedBreakpoints:
    """Arguments of ``setFunctionBreakpoints``."""

    breakpoints: tuple[NamedBreakpoint, ...] = ()


class FunctionBreakpoints:
    """The breakpoints by name of one debugged program."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._numbers = Numbers(_FIRST_ID)
        self._ours: dict[Optional[int], tuple[FunctionBreakpoint, ...]] = {None: ()}
        """By process, where the editor has set other ones there than in the main session."""
        self._python: dict[Optional[int], tuple[FunctionBreakpoint, ...]] = {}
        """Those of Python's, by process; None is the main one."""
        self.list = OwnBreakpoints(run, "set_function_breakpoints", self._body_for)

    def set(self, session: Session, request: Json) -> Any:
        """Take over the list of one session."""
        try:
            wanted = decode(SetNamedBreakpoints, arguments_of(request), "breakpoints").breakpoints
        except WireError as error:
            raise errors.bad_argument("setFunctionBreakpoints", f"valid: {error}") from None
        ours = [item for item in wanted if item.kind != PYTHON]
        numbers = self._numbers.of(ours)
        pid = None if session.is_root else session.pid
        self._ours[pid] = tuple(item.numbered(n) for n, item in zip(numbers, ours))
        sent = cast("list[Json]", arguments_of(request).get("breakpoints") or [])
        for_debugpy: Json = {
            **request,
            "arguments": {
                **arguments_of(request),
                "breakpoints": [raw for raw, item in zip(sent, wanted) if item.kind == PYTHON],
            },
        }
        session.replay.record(for_debugpy)
        answer = session.debugpy.request(request["command"], for_debugpy["arguments"])
        return self._answer(session, request, for_debugpy, wanted, numbers, answer)

    def knows(self, number: int) -> bool:
        """Tell whether a breakpoint is one of these."""
        return number in self._numbers

    def forget(self, pid: int) -> None:
        """Forget what was set for a process that is gone."""
        self._ours.pop(pid, None)
        self._python.pop(pid, None)

    async def _answer(
        self,
        session: Session,
        request: Json,
        for_debugpy: Json,
        wanted: Iterable[NamedBreakpoint],
        numbers: list[int],
        answer: asyncio.Future[Json],
    ) -> Json | None:
        response = await answer
        if not response["success"]:
            session.relay(request, response)
            return None
        response = session.replay.answered(for_debugpy, response)
        theirs = cast("list[Json]", body_of(response).get("breakpoints") or [])
        python = [item for item in wanted if item.kind == PYTHON]
        pid = None if session.is_root else session.pid
        self._python[pid] = tuple(
            item.numbered(said.get("id", 0)) for item, said in zip(python, theirs)
        )
        statuses = await self.list.arm(session, waits=bool(numbers))
        ours = iter(answered(numbers, statuses, self.list.why_not(session)))
        rest = iter(_checked(said, statuses) for said in theirs)
        return {"breakpoints": [next(rest if i.kind == PYTHON else ours) for i in wanted]}

    def _body_for(self, runtime: Runtime) -> SetFunctionBreakpoints:
        arming = self._run.arming
        ours = self._ours.get(runtime.pid, self._ours[None]) if arming.is_armed(runtime) else ()
        key = None if arming.is_main(runtime) else runtime.pid
        return SetFunctionBreakpoints(breakpoints=(*ours, *self._python.get(key, ())))


def register(overrides: Overrides) -> None:
    """Register ``setFunctionBreakpoints``."""
    overrides.requests.add(
        "setFunctionBreakpoints",
        "debugpy knows no modules, operations and steps, and believes every name.",
        lambda session, request: session.run.function_breakpoints.set(session, request),
    )


def _checked(said: Json, statuses: dict[int, BreakpointStatus]) -> Json:
    """Return debugpy's breakpoint with what the runtime knows of its name."""
    status = statuses.get(said.get("id", 0))
    if status is None or status.verified:
        return said
    return {**said, **as_dap(status), "id": said["id"]}
