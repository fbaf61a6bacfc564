"""``zentracer/set_data_breakpoints``: data breakpoints from outside the editor's own list.

A tensor lives in one process, so the list is that of the session it is sent to. The event
``zentracer/data_breakpoints`` tells of all, the editor's own ones too, with their hits.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Tuple, cast

from zentracer.wire.codec import WireError, decode, to_json
from zentracer.wire.editor import (
    DataBreakpoints,
    DataBreakpointState,
    LastHit,
    SetViewDataBreakpoints,
    ViewDataBreakpoint,
)
from zentracer.wire.messages import BreakpointHit, BreakpointStatus, DataBreakpoint
from zentracer_dap.coalesce import Coalesced
from zentracer_dap.features.wanted import EDITOR, VIEW
from zentracer_dap.protocol import errors
from zentracer_dap.protocol.handlers import Overrides
from zentracer_dap.protocol.messages import Json, arguments_of

if TYPE_CHECKING:
    from zentracer_dap.run import Run
    from zentracer_dap.session import Session

Numbered = Tuple[int, ViewDataBreakpoint]


class ViewDataBreakpoints:
    """The data breakpoints of one debugged program that were set in a view, and what became of all.

    Whoever sends a list keeps it; here it lives as long as its process.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._lists: dict[int, tuple[Numbered, ...]] = {}
        """By process."""
        self._hits: Counter[int] = Counter()
        self._last: dict[int, LastHit] = {}
        self._sent = DataBreakpoints(breakpoints=())
        self._state = Coalesced(self._send)

    def set(self, session: Session, request: Json) -> Any:
        """Take over the list of one process."""
        try:
            wanted = decode(SetViewDataBreakpoints, arguments_of(request), request["command"])
        except WireError as error:
            raise errors.bad_arguments(request["command"], str(error)) from None
        pid = self._run.main_pid if session.is_root else session.pid
        if pid is None:
            raise errors.no_runtime(self._run.unavailable)
        keys = ((VIEW, pid, i.data_id, i.condition, i.hit_condition) for i in wanted.breakpoints)
        numbers = self._run.data_breakpoints.numbers.of(keys)
        self._lists[pid] = tuple(zip(numbers, wanted.breakpoints))
        return self._answer(session)

    def armed(self, pid: int) -> tuple[DataBreakpoint, ...]:
        """Return those of a process that are enabled, as its runtime gets them."""
        return tuple(
            DataBreakpoint(
                id=number,
                data_id=item.data_id,
                condition=item.condition or None,
                hit_condition=item.hit_condition or None,
            )
            for number, item in self._lists.get(pid, ())
            if item.enabled
        )

    def knows(self, number: int) -> bool:
        """Tell whether a breakpoint is one of these, which the editor's own list has not."""
        return any(number == known for items in self._lists.values() for known, _ in items)

    def hit(self, hit: BreakpointHit) -> None:
        """Count a hit for each data breakpoint that it names."""
        ours = [i for i in hit.breakpoint_ids if self._run.data_breakpoints.knows(i)]
        if not ours:
            return
        details = hit.details
        last = LastHit(
            text=hit.text,
            step=details.step,
            rank=details.rank,
            origin=details.origin,
            tensor=details.tensor,
        )
        self._hits.update(ours)
        self._last.update(dict.fromkeys(ours, last))
        self.changed()

    def restarted(self) -> None:
        """Count from the beginning: the program begins anew."""
        self._lists.clear()
        self._hits.clear()
        self._last.clear()
        self.changed()

    def forget(self, pid: int) -> None:
        """Forget what was set in a process that is gone."""
        self._lists.pop(pid, None)
        self.changed()

    def changed(self) -> None:
        """Send the list, coalesced with other changes."""
        self._state.changed()

    def flush(self) -> None:
        """Send the list if it waits to be sent."""
        self._state.flush()

    def body(self) -> DataBreakpoints:
        """Return the list as it stands."""
        viewed = (
            self._state_of(pid, number, item, VIEW)
            for pid, items in self._lists.items()
            for number, item in items
        )
        edited = (
            self._state_of(pid, number, item, EDITOR)
            for pid, number, item in self._run.data_breakpoints.edited()
        )
        return DataBreakpoints(breakpoints=(*viewed, *edited))

    async def _answer(self, session: Session) -> Json:
        await self._run.data_breakpoints.list.arm(session, waits=False)
        return cast(Json, to_json(self.body()))

    def _state_of(
        self, pid: int, number: int, item: ViewDataBreakpoint, source: str
    ) -> DataBreakpointState:
        status = self._run.data_breakpoints.list.told(number) if item.enabled else None
        status = status or BreakpointStatus(id=number, verified=False)
        return DataBreakpointState(
            id=number,
            pid=pid,
            data_id=item.data_id,
            name=item.name,
            source=source,
            condition=item.condition,
            hit_condition=item.hit_condition,
            enabled=item.enabled,
            verified=status.verified,
            message=status.message,
            hits=self._hits[number],
            last=self._last.get(number),
        )

    def _send(self) -> None:
        body = self.body()
        if body != self._sent:
            self._sent = body
            self._run.editor_event("zentracer/data_breakpoints", to_json(body))


def register(overrides: Overrides) -> None:
    """Register the request."""
    overrides.requests.add(
        "zentracer/set_data_breakpoints",
        "debugpy has no data breakpoints.",
        lambda session, request: session.run.view_data.set(session, request),
    )
