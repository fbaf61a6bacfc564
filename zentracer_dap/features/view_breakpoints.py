"""``zentracer/set_tensor_breakpoints``: breakpoints from outside the editor's own list.

Whoever sends the list keeps it; here it lives as long as the session does, restarts included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from zentracer.wire.codec import WireError, decode, to_json
from zentracer.wire.editor import SetTensorBreakpoints
from zentracer_dap.features.wanted import VIEW, Wanted
from zentracer_dap.protocol import errors
from zentracer_dap.protocol.handlers import Overrides
from zentracer_dap.protocol.messages import Json, arguments_of

if TYPE_CHECKING:
    from zentracer_dap.session import Session


def register(overrides: Overrides) -> None:
    """Register the request."""
    overrides.requests.add(
        "zentracer/set_tensor_breakpoints",
        "debugpy does not know tensor breakpoints.",
        _on_set,
    )


def _on_set(session: Session, request: Json) -> Any:
    try:
        wanted = decode(SetTensorBreakpoints, arguments_of(request), request["command"])
    except WireError as error:
        raise errors.bad_arguments(request["command"], str(error)) from None
    session.run.arming.choose_in_view(
        tuple(
            Wanted(
                VIEW,
                item.filter,
                condition=item.condition or None,
                module=item.module or None,
                enabled=item.enabled,
            )
            for item in wanted.breakpoints
        )
    )
    return _answer(session)


async def _answer(session: Session) -> Json:
    run = session.run
    run.breakpoints.report((await run.arming.apply_to(None)).values())
    return cast(Json, to_json(run.breakpoints.body()))
