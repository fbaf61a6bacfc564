"""``scopes``: "Tensors" at a stop of ours, and "Module" where a module's method runs.

What they hold is asked of the stopped thread by ``evaluate``, whose result is a row like any other.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from zentracer_dap.protocol.handlers import Overrides
from zentracer_dap.protocol.messages import Json, arguments_of, body_of

if TYPE_CHECKING:
    from zentracer_dap.session import Session

ANSWER_SECONDS = 2.0
"""After which the scopes are shown without ours."""
_CALL = "__import__('zentracer.scopes', fromlist=['of']).of({!r}, {})"


def register(overrides: Overrides) -> None:
    """Register the request."""
    overrides.requests.add("scopes", "Stops of ours have tensors and modules to show.", _on_scopes)


def _on_scopes(session: Session, request: Json) -> Any:
    frame: Any = arguments_of(request).get("frameId")
    run = session.run
    pid = run.main_pid if session.is_root else session.pid
    if not isinstance(frame, int) or not run.processes.has_framework(pid):
        session.forward(request)
        return None
    names = ["Tensors", "Module"] if session.hits.is_anywhere else ["Module"]
    response = session.debugpy.request(request["command"], arguments_of(request))
    asked = [
        session.debugpy.request(
            "evaluate",
            {"expression": _CALL.format(name, frame), "frameId": frame, "context": "watch"},
        )
        for name in names
    ]
    return _answer(session, request, response, dict(zip(names, asked)))


async def _answer(
    session: Session,
    request: Json,
    answer: asyncio.Future[Json],
    asked: dict[str, asyncio.Future[Json]],
) -> Json | None:
    response = await answer
    if not response["success"]:
        session.relay(request, response)
        return None
    await asyncio.wait(asked.values(), timeout=ANSWER_SECONDS)
    said = {name: future.result() for name, future in asked.items() if future.done()}
    ours = [
        {"name": name, "variablesReference": reference, "expensive": False}
        for name, one in said.items()
        if one["success"] and (reference := body_of(one).get("variablesReference"))
    ]
    scopes = cast("list[Json]", body_of(response).get("scopes") or [])
    return {**body_of(response), "scopes": [*scopes, *ours]}
