"""``initialize``: debugpy's capabilities and ours, merged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from zentracer.wire import PROTOCOL_VERSION, VERSION
from zentracer.wire.filters import CONDITION_DESCRIPTION, FILTERS
from zentracer_dap.protocol.handlers import Overrides
from zentracer_dap.protocol.messages import Json, arguments_of, body_of

if TYPE_CHECKING:
    from zentracer_dap.session import Session

CAPABILITIES: Json = {
    "supportsExceptionFilterOptions": True,
    "supportsExceptionInfoRequest": True,
    "supportsCancelRequest": True,
    "supportsRestartRequest": True,
    "supportsDataBreakpoints": True,
    # An editor's extension knows by this that it talks to us, whichever debug type started us.
    "zentracer": {"protocol_version": PROTOCOL_VERSION, "version": VERSION},
}


def register(overrides: Overrides) -> None:
    """Register ``initialize``."""
    overrides.requests.add("initialize", "Our capabilities join debugpy's.", _on_initialize)


def merged(body: Json) -> Json:
    """Return debugpy's capabilities with ours."""
    filters = cast("list[Json]", body.get("exceptionBreakpointFilters") or [])
    return {
        **body,
        **CAPABILITIES,
        "exceptionBreakpointFilters": [*filters, *_filters()],
    }


def _filters() -> list[Json]:
    return [
        {
            "filter": offered.id,
            "label": offered.label,
            "description": offered.description,
            "default": offered.default,
            "supportsCondition": True,
            "conditionDescription": CONDITION_DESCRIPTION,
        }
        for offered in FILTERS
    ]


def _on_initialize(session: Session, request: Json) -> Any:
    session.editor.initialize_arguments = arguments_of(request)
    if session.failure is not None:
        return merged({"supportsConfigurationDoneRequest": True})

    def answer(response: Json) -> None:
        if response["success"]:
            session.relay(request, {**response, "body": merged(body_of(response))})
        elif not session.debugpy.is_open:
            # debugpy is gone. That is said to the launch, where every editor shows it.
            session.respond(request, merged({"supportsConfigurationDoneRequest": True}))
        else:
            session.relay(request, response)

    session.forward(request, answer)
    return None
