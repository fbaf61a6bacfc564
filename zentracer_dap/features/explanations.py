"""Explains exceptions of the frameworks where debugpy stops for them.

The question goes to debugpy as an ``evaluate`` in the stopped thread's top frame. The expression
calls our runtime, which sends the answer as an event on debugpy's own channel; that comes before
the response to ``evaluate``, whose text is of no interest. Whatever goes wrong on the way, the
editor gets debugpy's own answer.
"""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Any, cast

from zentracer.wire.codec import decode, to_json
from zentracer.wire.error_answer import ErrorAnswer
from zentracer.wire.messages import BreakpointHit
from zentracer_dap.protocol.handlers import Overrides
from zentracer_dap.protocol.messages import Json, body_of

if TYPE_CHECKING:
    from zentracer_dap.session import Session

ANSWER_SECONDS = 3.0
"""How long the editor waits for an explanation before it gets debugpy's answer alone."""

_CALL = "__import__('zentracer.explain', fromlist=['answer']).answer({})"


class Explanations:
    """What is said about the exceptions at which the threads of one process stand."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._waiting: set[int] = set()
        self._answers: dict[int, ErrorAnswer] = {}
        self._asked: dict[int, asyncio.Task[BreakpointHit | None]] = {}
        """By stopped thread; each stop is asked about once."""

    def forget(self, thread: int | None = None) -> None:
        """Forget where a thread, or every thread, stood: the program runs on."""
        if thread is not None:
            self._asked.pop(thread, None)
        else:
            self._asked.clear()

    def answered(self, answer: ErrorAnswer) -> None:
        """Keep the answer for ``evaluate``'s response, which follows."""
        if answer.id in self._waiting:
            self._answers[answer.id] = answer

    async def about(self, session: Session, thread: int) -> BreakpointHit | None:
        """Return what there is to say about the exception at which ``thread`` stands."""
        asked = self._asked.get(thread)
        if asked is None:
            asked = self._asked[thread] = asyncio.ensure_future(self._ask(session, thread))
        await asyncio.wait([asked], timeout=ANSWER_SECONDS)
        return asked.result() if asked.done() else None

    async def _ask(self, session: Session, thread: int) -> BreakpointHit | None:
        answer = await self._answer(session, thread)
        if answer is None:
            return None
        if answer.problem is not None:
            session.run.notices.tell(
                f"ZenTracer failed to explain an exception: {answer.problem}. Please report this."
            )
        if answer.hit is not None:
            session.run.found(session, answer.hit)
        return answer.hit

    async def _answer(self, session: Session, thread: int) -> ErrorAnswer | None:
        frame = await _top_frame(session, thread)
        if frame is None:
            return None
        number = next(self._numbers)
        self._waiting.add(number)
        try:
            arguments: Json = {
                "expression": _CALL.format(number),
                "frameId": frame,
                "context": "watch",  # in others debugpy redirects output or tries to execute
            }
            await session.debugpy.request("evaluate", arguments)
            return self._answers.get(number)
        finally:
            self._waiting.discard(number)
            self._answers.pop(number, None)


def register(overrides: Overrides) -> None:
    """Register the event that answers us."""
    overrides.events.add(
        "zentracer/error_answer",
        "It answers our own question; editors get it with exceptionInfo.",
        _on_answer,
    )


def can_explain(session: Session) -> bool:
    """Tell whether a runtime in the process may know the framework that raised."""
    run = session.run
    pid = run.main_pid if session.is_root else session.pid
    return any(runtime.pid == pid for runtime in run.link.runtimes)


async def explained(session: Session, thread: int, info: Json) -> Json:
    """Return the body of ``exceptionInfo`` with what we can add to debugpy's."""
    hit = await session.explanations.about(session, thread)
    return with_explanation(info, hit) if hit is not None else info


def with_explanation(info: Json, hit: BreakpointHit) -> Json:
    """Return debugpy's ``info``, whole, with our text below its own and our details beside."""
    details = cast(Json, info.get("details") or {})
    said = info.get("description") or ""
    return {
        **info,
        "description": f"{said}\n\n{hit.description}" if said else hit.description,
        "details": {**details, "zentracer": to_json(hit.details)},
    }


def _on_answer(session: Session, event: Json) -> None:
    session.explanations.answered(decode(ErrorAnswer, body_of(event), "error_answer"))


async def _top_frame(session: Session, thread: int) -> Any:
    arguments: Json = {"threadId": thread, "startFrame": 0, "levels": 1}
    response = await session.debugpy.request("stackTrace", arguments)
    frames = cast("list[Json]", body_of(response).get("stackFrames") or [])
    return frames[0].get("id") if frames and response["success"] else None
