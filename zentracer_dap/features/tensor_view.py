"""``zentracer/tensor``: what a panel shows of a tensor in a stopped frame.

The question goes to debugpy as an ``evaluate``, so that it is answered on the stopped thread, in
its frame. The expression calls our runtime, which sends the answer as an event on debugpy's own
channel; that comes before the response to ``evaluate``, whose text is of no interest.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
from typing import TYPE_CHECKING, Any, cast

from zentracer.wire.codec import WireError, decode, json_text
from zentracer.wire.editor import TensorQuery
from zentracer.wire.tensor_answer import TensorAnswer, TensorCall
from zentracer_dap.features.cancel import NUMBER
from zentracer_dap.protocol import errors
from zentracer_dap.protocol.handlers import Overrides
from zentracer_dap.protocol.messages import Json, arguments_of, body_of

if TYPE_CHECKING:
    from zentracer_dap.session import Session

ANSWER_SECONDS = 20.0
"""How long the process may be silent; it gives an expression up before (docs/evaluating.md)."""

_NOT_STOPPED = (
    "A tensor can be looked at while the program stands still: pause it, or wait for a breakpoint."
)
_GONE_ON = (
    "The program has gone on since this frame was shown, or the frame has no variables: select "
    "one where the program stands now."
)
_NO_FRAME = "Unable to find thread"
"""What debugpy says when it does not know a frame id."""
_CALL = "__import__('zentracer.tensor_view', fromlist=['answer']).answer('{}')"


class TensorViews:
    """The questions that have no answer yet."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._answers: dict[int, TensorAnswer] = {}
        self._waiting: set[int] = set()

    def on_query(self, session: Session, request: Json) -> Any:
        """Ask the stopped thread."""
        query = _query_of(request)
        why = _why_not(session, query)
        if why is not None:
            raise errors.nothing_to_show(why)
        number = next(self._numbers)
        self._waiting.add(number)
        arguments: Json = {
            "expression": _expression(TensorCall(id=number, query=query)),
            "frameId": query.frame_id,
            "context": "watch",  # in others debugpy redirects output or tries to execute
            NUMBER: request["seq"],
        }
        response = session.debugpy.request("evaluate", arguments)
        return self._answer(number, query, response)

    def on_answer(self, session: Session, event: Json) -> None:
        """Keep the answer for ``evaluate``'s response, which follows."""
        answer = decode(TensorAnswer, body_of(event), "tensor_answer")
        if answer.id in self._waiting:
            self._answers[answer.id] = answer

    async def _answer(
        self, number: int, query: TensorQuery, response: asyncio.Future[Json]
    ) -> Json | None:
        try:
            done, _ = await asyncio.wait([response], timeout=ANSWER_SECONDS)
            answer = self._answers.get(number)
        finally:
            self._waiting.discard(number)
            self._answers.pop(number, None)
        if answer is not None and answer.error is None:
            return cast(Json, answer.view)
        if answer is not None:
            raise errors.nothing_to_show(str(answer.error))
        raise errors.nothing_to_show(_why_no_answer(query, response.result() if done else None))


def register(overrides: Overrides) -> None:
    """Register the request, and the event that answers it."""
    views = TensorViews()
    overrides.requests.add("zentracer/tensor", "debugpy has no views of tensors.", views.on_query)
    overrides.events.add(
        "zentracer/tensor_answer",
        "It answers our own question; editors get it as the response.",
        views.on_answer,
    )


def _query_of(request: Json) -> TensorQuery:
    try:
        return decode(TensorQuery, arguments_of(request), "arguments")
    except WireError as error:
        raise errors.bad_argument("zentracer/tensor", f"valid: {error}") from None


def _why_not(session: Session, query: TensorQuery) -> str | None:
    """Why there is no use in asking."""
    if not (query.expression or "").strip():
        return "Name the tensor to look at: a variable, or any expression of the stopped frame."
    if query.frame_id is None or not session.is_ready or session.editor.has_terminated:
        return _NOT_STOPPED
    run = session.run
    return run.unavailable if not run.link.runtimes else None


def _expression(call: TensorCall) -> str:
    """Base64, because debugpy rewrites what looks like a private name or a line break."""
    text = base64.b64encode(json_text(call).encode()).decode("ascii")
    return _CALL.format(text)


def _why_no_answer(query: TensorQuery, response: Json | None) -> str:
    if response is None:
        return (
            f"`{query.expression}` is still being evaluated after {ANSWER_SECONDS:g} s, or the "
            "program has gone on. Ask again when it stands still."
        )
    message = str(response.get("message") or "")
    if response["success"] or _NO_FRAME in message:
        return _GONE_ON
    if "No module named 'zentracer" in message:
        return "ZenTracer is not in this process, so its tensors can only be seen as variables."
    return f"`{query.expression}` cannot be looked at: {message}"
