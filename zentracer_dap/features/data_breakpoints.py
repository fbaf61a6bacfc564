"""Data breakpoints: what can have one is asked of the stopped thread, hits come from the runtime.

debugpy has none and hangs on both requests.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Optional, cast

from zentracer.wire._body import body
from zentracer.wire.codec import WireError, decode, json_text
from zentracer.wire.data_info import DataInfoAnswer, DataInfoCall
from zentracer.wire.editor import ViewDataBreakpoint
from zentracer.wire.messages import BreakpointStatus, DataBreakpoint, SetDataBreakpoints
from zentracer_dap.features.own_breakpoints import Numbers, OwnBreakpoints, answered
from zentracer_dap.peers.runtime import Runtime
from zentracer_dap.protocol import errors
from zentracer_dap.protocol.handlers import Overrides
from zentracer_dap.protocol.messages import Json, arguments_of, body_of

if TYPE_CHECKING:
    from zentracer_dap.run import Run
    from zentracer_dap.session import Session

ANSWER_SECONDS = 10.0
"""How long an expression may take to evaluate."""
_FIRST_ID = 3_000_000
_CALL = "__import__('zentracer.data_info', fromlist=['answer']).answer('{}')"
_NOT_READY = "The program has to stand still for that: pause it, or wait for a breakpoint."
_NO_ANSWER = "`{}` could not be looked at: {}"
_ONLY_WRITES = "A data breakpoint stops at writes; reading a tensor leaves no trace."
_EARLIER = "The process that held this tensor has ended; set the breakpoint anew."
_SLOW = "it is still being evaluated, or the program has gone on"


@body
class WantedData:
    """One item of ``setDataBreakpoints``."""

    dataId: str
    condition: Optional[str] = None
    hitCondition: Optional[str] = None
    accessType: Optional[str] = None


@body
class SetWantedData:
    """Arguments of ``setDataBreakpoints``."""

    breakpoints: tuple[WantedData, ...] = ()


class DataBreakpoints:
    """The data breakpoints of one debugged program."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.numbers = Numbers(_FIRST_ID)
        self._questions = itertools.count(1)
        self._waiting: set[int] = set()
        self._answers: dict[int, DataInfoAnswer] = {}
        self._wanted: dict[int, tuple[DataBreakpoint, ...]] = {}
        """By process: a tensor lives in one."""
        self._names: dict[str, str] = {}
        """How the user calls what a data id stands for."""
        self.list = OwnBreakpoints(run, "set_data_breakpoints", self._body_for)
        self.list.on_told = lambda: run.view_data.changed()
        self.list.is_shown_apart = lambda number: run.view_data.knows(number)

    def info(self, session: Session, request: Json) -> Any:
        """Ask the stopped thread whether something can have a data breakpoint."""
        arguments = arguments_of(request)
        name: Any = arguments.get("name")
        if not isinstance(name, str) or not name.strip():
            raise errors.bad_argument("name", "a variable or an expression")
        if arguments.get("asAddress"):
            return _cannot("Data breakpoints are set on tensors, not on addresses.")
        if not session.is_ready or session.editor.has_terminated:
            return _cannot(_NOT_READY)
        run = self._run
        if not run.link.runtimes:
            return _cannot(run.unavailable or "ZenTracer is not in this process.")
        number = next(self._questions)
        self._waiting.add(number)
        reference = cast("Optional[int]", arguments.get("variablesReference")) or None
        frame = cast("Optional[int]", arguments.get("frameId"))
        call = DataInfoCall(id=number, name=name, variables_reference=reference, frame_id=frame)
        text = base64.b64encode(json_text(call).encode()).decode("ascii")
        asked: Json = {"expression": _CALL.format(text), "context": "watch"}
        if frame is not None:
            asked["frameId"] = frame
        return self._info(number, name, session.debugpy.request("evaluate", asked))

    def answered(self, answer: DataInfoAnswer) -> None:
        """Keep the answer for ``evaluate``'s response, which follows."""
        if answer.id in self._waiting:
            self._answers[answer.id] = answer

    def set(self, session: Session, request: Json) -> Any:
        """Take over the list of one session."""
        try:
            wanted = decode(SetWantedData, arguments_of(request), "breakpoints").breakpoints
        except WireError as error:
            raise errors.bad_argument("setDataBreakpoints", f"valid: {error}") from None
        numbers = self.numbers.of((i.dataId, i.condition, i.hitCondition) for i in wanted)
        refused = {
            number: BreakpointStatus(id=number, verified=False, message=_ONLY_WRITES)
            for number, item in zip(numbers, wanted)
            if item.accessType not in (None, "write")
        }
        pid = self._run.main_pid if session.is_root else session.pid
        if pid is None:  # a tensor of a process that has not begun: of an earlier run
            return {"breakpoints": answered(numbers, {n: _earlier(n) for n in numbers}, "")}
        self._wanted[pid] = tuple(
            DataBreakpoint(
                id=number,
                data_id=item.dataId,
                condition=item.condition or None,
                hit_condition=item.hitCondition or None,
            )
            for number, item in zip(numbers, wanted)
            if number not in refused
        )
        return self._answer(session, numbers, refused)

    def knows(self, number: int) -> bool:
        """Tell whether a breakpoint is one of these."""
        return number in self.numbers

    def edited(self) -> Iterator[tuple[int, int, ViewDataBreakpoint]]:
        """Return process, id and breakpoint for all of the editor's own list."""
        for pid, items in self._wanted.items():
            for item in items:
                name = self._names.get(item.data_id, item.data_id)
                shown = ViewDataBreakpoint(
                    data_id=item.data_id,
                    name=name,
                    condition=item.condition,
                    hit_condition=item.hit_condition,
                )
                yield pid, item.id, shown

    def restarted(self) -> None:
        """Tell that the tensors are gone: the program begins anew."""
        numbers = [item.id for items in self._wanted.values() for item in items]
        self._wanted.clear()
        self.list.restarted()
        for number in numbers:
            self.list.ended(number, _EARLIER)
        self._run.view_data.restarted()

    def forget(self, pid: int) -> None:
        """Forget what was set in a process that is gone."""
        self._wanted.pop(pid, None)
        self._run.view_data.forget(pid)

    async def _info(self, number: int, name: str, response: asyncio.Future[Json]) -> Json:
        try:
            done, _ = await asyncio.wait([response], timeout=ANSWER_SECONDS)
            answer = self._answers.get(number)
        finally:
            self._waiting.discard(number)
            self._answers.pop(number, None)
        if answer is None:
            said = str(response.result().get("message") or _SLOW) if done else _SLOW
            return _cannot(_NO_ANSWER.format(name, said))
        if answer.data_id is None:
            return _cannot(answer.description)
        self._names[answer.data_id] = answer.description
        return {
            "dataId": answer.data_id,
            "description": answer.description,
            "accessTypes": ["write"],
            "canPersist": False,  # it lives as long as the tensor
        }

    async def _answer(
        self, session: Session, numbers: list[int], refused: dict[int, BreakpointStatus]
    ) -> Json:
        statuses = await self.list.arm(session, waits=False) if self._run.link.runtimes else {}
        why_not = self.list.why_not(session)
        return {"breakpoints": answered(numbers, {**statuses, **refused}, why_not)}

    def _body_for(self, runtime: Runtime) -> SetDataBreakpoints:
        ours = self._run.view_data.armed(runtime.pid)
        return SetDataBreakpoints(breakpoints=(*self._wanted.get(runtime.pid, ()), *ours))


def register(overrides: Overrides) -> None:
    """Register the two requests, and the event that answers our own question."""
    reason = "debugpy has no data breakpoints and hangs on it."
    overrides.requests.add(
        "dataBreakpointInfo", reason, lambda s, request: s.run.data_breakpoints.info(s, request)
    )
    overrides.requests.add(
        "setDataBreakpoints", reason, lambda s, request: s.run.data_breakpoints.set(s, request)
    )
    overrides.events.add(
        "zentracer/data_info",
        "It answers our own question; editors get it as the response.",
        _on_answer,
    )


def _on_answer(session: Session, event: Json) -> None:
    answer = decode(DataInfoAnswer, body_of(event), "data_info")
    session.run.data_breakpoints.answered(answer)


def _earlier(number: int) -> BreakpointStatus:
    return BreakpointStatus(id=number, verified=False, message=_EARLIER)


def _cannot(why: str) -> Json:
    return {"dataId": None, "description": why}
