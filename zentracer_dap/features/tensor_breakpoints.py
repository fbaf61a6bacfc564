"""``setExceptionBreakpoints``: tensor exceptions go to the runtime, the rest to debugpy.

Both answers are merged in the order of the request: first ``filters``, then ``filterOptions``.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Optional

from zentracer.wire._body import body
from zentracer.wire.codec import WireError, decode
from zentracer.wire.filters import PREFIX
from zentracer.wire.messages import BreakpointStatus
from zentracer_dap.features.breakpoint_list import NOT_CONNECTED, as_dap
from zentracer_dap.features.wanted import EDITOR, Wanted, unknown_filter
from zentracer_dap.protocol import errors
from zentracer_dap.protocol.handlers import Overrides
from zentracer_dap.protocol.messages import Json, arguments_of, body_of

if TYPE_CHECKING:
    from zentracer_dap.session import Session

LINK_SECONDS = 3.0
"""How long an answer waits for the training process to connect."""


@body
class FilterOption:
    """One ticked filter, in the form that can carry a condition."""

    filterId: str
    condition: Optional[str] = None


@body
class SetExceptionBreakpoints:
    """Arguments of ``setExceptionBreakpoints``, as far as they concern us."""

    filters: tuple[str, ...] = ()
    filterOptions: tuple[FilterOption, ...] = ()

    def ticked(self) -> list[Wanted]:
        """All filters in the order of the answer."""
        return [
            *(Wanted(EDITOR, name) for name in self.filters),
            *(Wanted(EDITOR, o.filterId, o.condition or None) for o in self.filterOptions),
        ]


def register(overrides: Overrides) -> None:
    """Register what arms tensor exceptions."""
    overrides.requests.add(
        "setExceptionBreakpoints", "debugpy does not know our filters nor filterOptions.", _on_set
    )


def _on_set(session: Session, request: Json) -> Any:
    arguments = arguments_of(request)
    try:
        ticked = decode(SetExceptionBreakpoints, arguments).ticked()
    except WireError as error:
        raise errors.bad_argument("setExceptionBreakpoints", f"valid: {error}") from None
    for_debugpy = {
        **request,
        "arguments": {
            **arguments,
            "filters": [item.filter for item in ticked if not item.filter.startswith(PREFIX)],
        },
    }
    for_debugpy["arguments"].pop("filterOptions", None)
    session.replay.record(for_debugpy)
    answer = session.debugpy.request(request["command"], for_debugpy["arguments"])
    ours = tuple(item for item in ticked if item.is_offered)
    arming = session.run.arming
    arming.choose(ours, None if session.is_root else session.pid)
    ids = {item: arming.ids.of(item) for item in ours}
    return _answer(session, request, ticked, ids, answer)


async def _answer(
    session: Session,
    request: Json,
    ticked: list[Wanted],
    ids: dict[Wanted, int],
    answer: asyncio.Future[Json],
) -> Json | None:
    statuses, response = await asyncio.gather(_arm(session, ids), answer)
    if not response["success"]:
        session.relay(request, response)
        return None
    session.run.breakpoints.told(statuses.values())
    if not any(item.filter.startswith(PREFIX) or item.condition for item in ticked):
        return body_of(response)
    breakpoints = [_breakpoint(item, ids, statuses) for item in ticked]
    return {**body_of(response), "breakpoints": breakpoints}


async def _arm(session: Session, ids: dict[Wanted, int]) -> dict[int, BreakpointStatus]:
    run = session.run
    reason = await _why_not_connected(session) if ids else None
    statuses = await run.arming.apply_to(None if session.is_root else session.pid)
    reason = reason or _why_not_armed(session) or "The training process did not answer."
    return {
        number: statuses.get(number) or BreakpointStatus(id=number, verified=False, message=reason)
        for number in ids.values()
    }


async def _why_not_connected(session: Session) -> str | None:
    """Wait a bounded time for the training process; returns why it is not there."""
    run = session.run
    if run.unavailable is not None:
        return run.unavailable
    try:
        await asyncio.wait_for(run.link.arrived.wait(), LINK_SECONDS)
    except asyncio.TimeoutError:
        return run.unavailable or NOT_CONNECTED
    return None


def _why_not_armed(session: Session) -> str | None:
    arming = session.run.arming
    runtimes = [r for r in session.run.link.runtimes if session.is_root or r.pid == session.pid]
    if any(arming.is_armed(runtime) for runtime in runtimes):
        return None
    return (
        'Tensor exceptions are not armed in this child process; "children": "all" in the '
        '"zentracer" object of the launch configuration arms them in every process.'
    )


def _breakpoint(
    item: Wanted, ids: dict[Wanted, int], statuses: dict[int, BreakpointStatus]
) -> Json:
    if item in ids:
        return as_dap(statuses[ids[item]])
    if item.filter.startswith(PREFIX):
        return {"verified": False, "message": unknown_filter(item.filter)}
    if item.condition:
        message = f"debugpy has no conditions for '{item.filter}': it stops every time."
        return {"verified": True, "message": message}
    return {"verified": True}
