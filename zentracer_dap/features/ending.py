"""``disconnect``, ``terminate`` and ``terminated``: a session always comes to its end.

DAP: ``terminate`` ends the program; ``disconnect`` ends it as ``terminateDebuggee`` says, which
defaults to true for a launched and to false for an attached one.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from zentracer_dap.protocol.handlers import Overrides
from zentracer_dap.protocol.messages import Json, arguments_of

if TYPE_CHECKING:
    from zentracer_dap.session import Session

ANSWER_SECONDS = 15.0
"""debugpy waits for a program that does not react; the editor should not have to."""

UNREADY_SECONDS = 2.0
"""The same while debugpy still starts or attaches, which it does not interrupt for anything."""


def register(overrides: Overrides) -> None:
    """Register the end of a session."""
    overrides.requests.add(
        "disconnect", "The session ends even when debugpy does not answer.", _on_disconnect
    )
    overrides.events.add("terminated", "Said once, and not during a restart.", _on_terminated)


def terminates(session: Session, arguments: Json) -> bool:
    """Whether a ``disconnect`` ends the program."""
    launched = session.start is not None and session.start.command == "launch"
    asked = arguments.get("terminateDebuggee")
    return launched if asked is None else bool(asked)


async def _on_disconnect_later(session: Session, request: Json) -> Json | None:
    seconds = ANSWER_SECONDS if session.is_ready else UNREADY_SECONDS
    answer = session.debugpy.request("disconnect", arguments_of(request))
    await asyncio.wait([answer], timeout=seconds)
    session.respond(request)
    session.spawn(session.run.finish(session))
    return None


def _on_disconnect(session: Session, request: Json) -> Any:
    session.is_ending = True
    session.leaves_running = not terminates(session, arguments_of(request))
    return _on_disconnect_later(session, request)


def _on_terminated(session: Session, event: Json) -> Json | None:
    if session.replay.is_restarting or session.editor.has_terminated:
        return None
    session.editor.has_terminated = True
    if session.is_root:
        session.run.flush()
    return event
