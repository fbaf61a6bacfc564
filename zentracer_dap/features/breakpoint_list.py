"""``zentracer/breakpoints``: every tensor breakpoint, whoever set it, as it stands.

A breakpoint of the editor's own list is also corrected by DAP's ``breakpoint`` event; for one of
the launch configuration there is the console.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from zentracer.wire.codec import to_json
from zentracer.wire.editor import LastHit, TensorBreakpoints, TensorBreakpointState
from zentracer.wire.messages import BreakpointHit, BreakpointStatus, Notice
from zentracer_dap.coalesce import Coalesced
from zentracer_dap.features.wanted import EDITOR, LABELS, Wanted, unknown_filter
from zentracer_dap.protocol.messages import Json

if TYPE_CHECKING:
    from zentracer_dap.run import Run

NOT_CONNECTED = (
    "The training process has not connected to ZenTracer yet; the breakpoint becomes active as "
    "soon as it does."
)


class BreakpointList:
    """What became of the tensor breakpoints of one debugged program."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._told: dict[int, BreakpointStatus] = {}
        """What clients believe about each breakpoint."""
        self._hits: Counter[int] = Counter()
        self._last: dict[int, LastHit] = {}
        self._sent = TensorBreakpoints(breakpoints=())
        self._state = Coalesced(self._send)

    def changed(self) -> None:
        """Send the list, coalesced with other changes."""
        self._state.changed()

    def flush(self) -> None:
        """Send the list if it waits to be sent."""
        self._state.flush()

    def restarted(self) -> None:
        """Count from the beginning: the program begins anew."""
        self._hits.clear()
        self._last.clear()
        self.changed()

    def hit(self, hit: BreakpointHit) -> None:
        """Count a hit for each breakpoint that it names."""
        details = hit.details
        last = LastHit(
            text=hit.text,
            step=details.step,
            rank=details.rank,
            origin=details.origin,
            tensor=details.tensor,
        )
        self._hits.update(hit.breakpoint_ids)
        self._last.update(dict.fromkeys(hit.breakpoint_ids, last))
        self.changed()

    def told(self, statuses: Iterable[BreakpointStatus]) -> None:
        """Note what a response says about breakpoints; a mistake is said in the console too."""
        for status in statuses:
            self._note(status)
        self.changed()

    def report(self, statuses: Iterable[BreakpointStatus]) -> None:
        """Correct what clients believe about breakpoints."""
        for status in statuses:
            known = self._told.get(status.id)
            self._note(status)
            if known is None or _same(known, status) or not self._is_of_editor(status.id):
                continue
            body: Json = {"reason": "changed", "breakpoint": as_dap(status)}
            self._run.editor_event("breakpoint", body)
        self.changed()

    def notice(self, notice: Notice) -> None:
        """Show on a breakpoint what a runtime says about it."""
        if notice.breakpoint_id in self._told:
            status = BreakpointStatus(
                id=notice.breakpoint_id, verified=False, message=notice.message
            )
            self.report([status])

    def body(self) -> TensorBreakpoints:
        """Return the list as it stands."""
        return TensorBreakpoints(
            breakpoints=tuple(self._state_of(item) for item in self._run.arming.all())
        )

    def _send(self) -> None:
        body = self.body()
        if body != self._sent:
            self._sent = body
            self._run.editor_event("zentracer/breakpoints", to_json(body))

    def _note(self, status: BreakpointStatus) -> None:
        self._told[status.id] = status
        if not status.verified and status.message and self._run.link.runtimes:
            self._run.notices.say_once(status.message)

    def _is_of_editor(self, number: int) -> bool:
        arming = self._run.arming
        return any(i.source == EDITOR and arming.ids.of(i) == number for i in arming.all())

    def _state_of(self, item: Wanted) -> TensorBreakpointState:
        number = self._run.arming.ids.of(item)
        status = self._status_of(item, number)
        return TensorBreakpointState(
            id=number,
            filter=item.filter,
            label=LABELS.get(item.filter, item.filter),
            source=item.source,
            condition=item.condition,
            module=item.module,
            enabled=item.enabled,
            verified=status.verified,
            message=status.message,
            hits=self._hits[number],
            last=self._last.get(number),
        )

    def _status_of(self, item: Wanted, number: int) -> BreakpointStatus:
        if not item.is_offered:
            message = unknown_filter(item.filter)
            return BreakpointStatus(id=number, verified=False, message=message)
        if not item.enabled:
            return BreakpointStatus(id=number, verified=False)
        if number in self._told and not self._is_missing():
            return self._told[number]
        return BreakpointStatus(id=number, verified=False, message=self._why_missing())

    def _is_missing(self) -> bool:
        """Whether nothing can be armed: what was told of another start no longer holds."""
        return self._run.unavailable is not None and not self._run.link.runtimes

    def _why_missing(self) -> str | None:
        if self._run.link.runtimes:
            return None  # it is being armed
        return self._run.unavailable or NOT_CONNECTED


def as_dap(status: BreakpointStatus) -> Json:
    """Return a DAP ``Breakpoint``."""
    breakpoint: Json = {"id": status.id, "verified": status.verified}
    if status.message:
        breakpoint["message"] = status.message
    if status.pending and not status.verified:
        breakpoint["reason"] = "pending"
    return breakpoint


def _same(one: BreakpointStatus, other: BreakpointStatus) -> bool:
    return (one.verified, one.message) == (other.verified, other.message)
