"""Data breakpoints are not offered; an editor that asks all the same gets a plain answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from zentracer_dap.protocol.handlers import Overrides
from zentracer_dap.protocol.messages import Json, arguments_of

if TYPE_CHECKING:
    from zentracer_dap.session import Session

_REASON = "Data breakpoints are not supported."


def register(overrides: Overrides) -> None:
    """Register the two requests."""
    overrides.requests.add("dataBreakpointInfo", "debugpy hangs on it.", _on_info)
    overrides.requests.add("setDataBreakpoints", "debugpy hangs on it.", _on_set)


def _on_info(session: Session, request: Json) -> Json:
    return {"dataId": None, "description": _REASON}


def _on_set(session: Session, request: Json) -> Json:
    wanted = cast("list[Any]", arguments_of(request).get("breakpoints") or [])
    return {"breakpoints": [{"verified": False, "message": _REASON} for _ in wanted]}
