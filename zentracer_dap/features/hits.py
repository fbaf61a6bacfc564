"""Stops at tensor exceptions: ``stopped`` and ``exceptionInfo`` tell what was found.

The runtime reports a hit on debugpy's own channel, ordered before the ``stopped`` that it causes,
and raises a stand-in exception whose message is the hit's text; that pairs the two.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from zentracer.wire.codec import decode, to_json
from zentracer.wire.messages import BreakpointHit
from zentracer_dap.features import explanations
from zentracer_dap.protocol.handlers import Overrides
from zentracer_dap.protocol.messages import Json, arguments_of, body_of

if TYPE_CHECKING:
    from zentracer_dap.session import Session


_MAX_WAITING = 64
SET_SECONDS = 2.0
"""How long the program is kept from going on for breakpoints that are being set."""
_LOOK_SECONDS = 0.005


class Hits:
    """The hits of one process: not yet paired with a stop, and by stopped thread."""

    def __init__(self) -> None:
        self._waiting: list[BreakpointHit] = []
        self._fresh: BreakpointHit | None = None
        """The hit that came after the last stop; only it may be paired without its text."""
        self._stopped: dict[int, BreakpointHit] = {}

    def add(self, hit: BreakpointHit) -> None:
        """Remember a hit whose ``stopped`` is still to come."""
        self._waiting = [*self._waiting[-_MAX_WAITING:], hit]
        self._fresh = hit

    def pair(self, thread: int, texts: tuple[Any, ...]) -> BreakpointHit | None:
        """Return the waiting hit that an exception stop of ``thread`` belongs to."""
        hit, fresh = self.pair_text(thread, texts), self._fresh
        self._fresh = None
        if hit is None and fresh in self._waiting and len(self._waiting) == 1:
            hit = self._stopped[thread] = self._waiting.pop()
        return hit

    def pair_text(self, thread: Any, texts: tuple[Any, ...]) -> BreakpointHit | None:
        """Like ``pair``, for a thread whose stop may have nothing to do with a hit."""
        hit = next((hit for hit in self._waiting if hit.text in texts), None)
        if hit is not None:
            self._waiting.remove(hit)
            self._stopped[thread] = hit
        return hit

    def of(self, thread: Any) -> BreakpointHit | None:
        """Return the hit at which ``thread`` stands."""
        return self._stopped.get(thread)

    @property
    def is_anywhere(self) -> bool:
        """Whether any thread stands at a hit."""
        return bool(self._stopped)

    def forget(self, thread: int | None = None) -> None:
        """Forget where a thread, or every thread, stood: the program runs on.

        A hit may be reported while the editor's ``continue`` is under way, so those that wait
        for their stop stay.
        """
        if thread is not None:
            self._stopped.pop(thread, None)
        else:
            self._stopped.clear()


def register(overrides: Overrides) -> None:
    """Register what makes a hit readable."""
    overrides.events.add(
        "zentracer/breakpoint_hit",
        "It is between the runtime and us; the editor sees a richer 'stopped'.",
        _on_hit,
    )
    overrides.events.add(
        "stopped", "A stop at a tensor exception says what was found instead.", _on_stopped
    )
    overrides.events.add("continued", "A resumed thread stands at no hit.", _on_continued)
    overrides.requests.add(
        "exceptionInfo", "The hit knows more than the stand-in exception.", _on_exception_info
    )
    for command in ("continue", "next", "stepIn", "stepOut", "goto"):
        overrides.requests.add(command, "A resumed thread stands at no hit.", _on_resume)


def exception_info(hit: BreakpointHit) -> Json:
    """Return the body of ``exceptionInfo`` for ``hit``."""
    return {
        "exceptionId": hit.label,
        "description": hit.description,
        "breakMode": "always",
        "details": {
            "message": hit.text,
            "typeName": hit.label,
            "fullTypeName": hit.details.filter,
            "zentracer": to_json(hit.details),
        },
    }


def _on_hit(session: Session, event: Json) -> None:
    hit = decode(BreakpointHit, body_of(event), "breakpoint_hit")
    session.hits.add(hit)
    session.run.found(session, hit)


def _on_stopped(session: Session, event: Json) -> Json | None:
    return session.run.holding.stopped(session, _with_hit(session, event))


def _with_hit(session: Session, event: Json) -> Json:
    body = session.replay.with_known_ids(body_of(event))
    hit = None
    if body.get("reason") == "exception":
        texts = (body.get("description"), body.get("text"))
        hit = session.hits.pair(body.get("threadId", 0), texts)
    if hit is None:
        return {**event, "body": body}
    if hit.reason != "exception":  # which has a widget of its own in editors
        said = hit.description if hit.reason == "data breakpoint" else hit.text
        session.editor.tell(said, "console")
    is_found = hit.reason == "exception"
    about = {
        "reason": hit.reason,
        "description": f"{hit.label} in {hit.where}" if is_found else hit.text,
        "text": hit.text,
        "hitBreakpointIds": list(hit.breakpoint_ids),
    }
    return {**event, "body": {**body, **about}}


def _on_continued(session: Session, event: Json) -> Json:
    body = body_of(event)
    _forget(session, None if body.get("allThreadsContinued") else body.get("threadId"))
    return event


def _on_resume(session: Session, request: Json) -> Any:
    if session.is_setting_breakpoints:
        return _resume_once_set(session, request)
    return _resume(session, request)


async def _resume_once_set(session: Session, request: Json) -> Json | None:
    """Let the program go on once it has the breakpoints that were set just before.

    They go over the link and this to debugpy, which might be quicker.
    """
    waited = 0.0
    while session.is_setting_breakpoints and waited < SET_SECONDS:
        waited += _LOOK_SECONDS
        await asyncio.sleep(_LOOK_SECONDS)
    return _resume(session, request)


def _resume(session: Session, request: Json) -> Json | None:
    if session.run.holding.runs_already(session, request["command"]):
        return {"allThreadsContinued": True}
    thread: Any = arguments_of(request).get("threadId")
    _forget(session, None if request["command"] == "continue" else thread)
    session.forward(request)
    session.run.holding.resumed(session, request["command"])
    return None


def _forget(session: Session, thread: int | None) -> None:
    session.hits.forget(thread)
    session.explanations.forget(thread)


def _on_exception_info(session: Session, request: Json) -> Any:
    hit = session.hits.of(arguments_of(request).get("threadId"))
    if hit is not None:
        return exception_info(hit)
    return _ask_debugpy(session, request)


async def _ask_debugpy(session: Session, request: Json) -> Json | None:
    arguments = arguments_of(request)
    response = await session.debugpy.request(request["command"], arguments)
    thread: Any = arguments.get("threadId")
    body = body_of(response)
    hit = session.hits.pair_text(thread, _texts(body))
    if hit is not None:
        # The thread stopped together with others, without an event of its own.
        return exception_info(hit)
    if response["success"] and explanations.can_explain(session):
        return await explanations.explained(session, thread, body)
    session.relay(request, response)
    return None


def _texts(body: Json) -> tuple[Any, ...]:
    details = cast(Json, body.get("details") or {})
    return tuple(text for text in (body.get("description"), details.get("message")) if text)
