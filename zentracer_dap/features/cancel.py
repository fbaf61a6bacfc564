"""``cancel``: the editor stops waiting at once, and what it waited for is interrupted.

debugpy does not know the request and would hang on it. A request that merely reads is answered as
cancelled, and its late answer is dropped; one that changes something keeps its real answer. What
the stopped thread still computes for it is interrupted by our runtime, which knows the request by
the editor's number.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from zentracer.wire.messages import CancelEvaluation
from zentracer_dap.peers.runtime import RuntimeFailed
from zentracer_dap.protocol import errors
from zentracer_dap.protocol.handlers import Overrides
from zentracer_dap.protocol.messages import Json, arguments_of

if TYPE_CHECKING:
    from zentracer_dap.session import Session

NUMBER = "zentracerRequest"
"""Argument that takes the editor's number of a request to the runtime; debugpy ignores it."""
READING = frozenset(
    (
        "completions",
        "evaluate",
        "exceptionInfo",
        "gotoTargets",
        "modules",
        "scopes",
        "source",
        "stackTrace",
        "stepInTargets",
        "threads",
        "variables",
        "zentracer/tensor",
    )
)
_COMPUTED = frozenset(
    ("completions", "evaluate", "exceptionInfo", "setExpression", "setVariable", "variables")
)
"""What a stopped thread computes, with code of the user's."""
_SECONDS = 5.0
"""How long a process may take to say that it has heard."""


def register(overrides: Overrides) -> None:
    """Register ``cancel``."""
    overrides.requests.add("cancel", "debugpy hangs on it.", _on_cancel)


def numbered(request: Json) -> Json:
    """Return ``request`` as debugpy is to get it: one that is computed can be told apart there."""
    if request["command"] not in _COMPUTED:
        return request
    return {**request, "arguments": {**arguments_of(request), NUMBER: request["seq"]}}


def _on_cancel(session: Session, request: Json) -> Json:
    pending = session.pending_request(arguments_of(request).get("requestId"))
    if pending is None:
        return {}
    if pending["command"] in READING:
        session.fail(pending, errors.cancelled(pending["command"]))
    if pending["command"] in _COMPUTED or pending["command"] == "zentracer/tensor":
        session.spawn(_interrupt(session, pending["seq"]))
    return {}


async def _interrupt(session: Session, number: int) -> None:
    run = session.run
    pid = run.main_pid if session.is_root else session.pid
    for runtime in [one for one in run.link.runtimes if one.pid == pid]:
        # A process that is gone computes nothing.
        with contextlib.suppress(RuntimeFailed):
            await runtime.request("cancel_evaluation", CancelEvaluation(request=number), _SECONDS)
