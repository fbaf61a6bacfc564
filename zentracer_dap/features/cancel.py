"""``cancel``: the editor stops waiting at once.

debugpy does not know the request and would hang on it. What a debugged process has begun cannot
be taken back, so only the wait ends: a request that merely reads is answered as cancelled, and
its late answer is dropped. A request that changes something keeps its real answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zentracer_dap.protocol import errors
from zentracer_dap.protocol.handlers import Overrides
from zentracer_dap.protocol.messages import Json, arguments_of

if TYPE_CHECKING:
    from zentracer_dap.session import Session

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


def register(overrides: Overrides) -> None:
    """Register ``cancel``."""
    overrides.requests.add("cancel", "debugpy hangs on it.", _on_cancel)


def _on_cancel(session: Session, request: Json) -> Json:
    pending = session.pending_request(arguments_of(request).get("requestId"))
    if pending is not None and pending["command"] in READING:
        session.fail(pending, errors.cancelled(pending["command"]))
    return {}
