"""``disconnect``, ``terminate`` and ``terminated``: a session always comes to its end.

DAP: ``terminate`` ends the program; ``disconnect`` ends it as ``terminateDebuggee`` says, which
defaults to true for a launched and to false for an attached one.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from zentracer_dap.peers.debugpy import END_SECONDS
from zentracer_dap.protocol import errors
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


def end_seconds(session: Session) -> float:
    """How long debugpy may take to end ``session``."""
    return END_SECONDS if session.is_ready else UNREADY_SECONDS


async def editor_closed(session: Session, problem: str | None) -> None:
    """End a session whose editor is gone, or sends what cannot be understood."""
    if session.ended.done():
        return
    if problem is not None:
        error = errors.unreadable(problem)
        session.exit_code = 1
        session.editor.tell(error.text)
        session.editor.terminated()
    if not session.is_ending and session.debugpy.is_open:
        session.is_ending = True
        if session.is_root:
            session.run.own_debugpy.let_end()
        arguments: Json = {"terminateDebuggee": terminates(session, {})}
        answer = session.debugpy.request("disconnect", arguments)
        await asyncio.wait([answer], timeout=end_seconds(session))
    await session.run.finish(session)


async def debugpy_closed(session: Session) -> None:
    """End a session whose debugpy is gone; say why if nobody asked for it."""
    if session.ended.done():
        return
    if session.is_ending or session.editor.has_terminated or not session.is_root:
        await _after_last_answer(session)
        return
    error = await session.run.own_debugpy.why_it_ended()
    session.failure = error
    session.exit_code = 1
    session.fail_start(error)
    if session.start is None:
        return  # the launch is still to come; it gets the error as its answer
    session.run.flush()
    session.editor.tell(error.text)
    session.editor.terminated()
    await session.run.finish(session)


async def _after_last_answer(session: Session) -> None:
    """Let the handler of ``disconnect`` send its answer before the editor's side closes."""
    await asyncio.sleep(0)
    if not session.is_root:
        session.editor.terminated()
    await session.run.finish(session)


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
    if session.is_root:
        session.run.own_debugpy.let_end()
    return _on_disconnect_later(session, request)


def _on_terminated(session: Session, event: Json) -> Json | None:
    if session.replay.is_restarting or session.editor.has_terminated:
        return None
    session.editor.has_terminated = True
    session.run.holding.gone(session)
    if session.is_root:
        session.run.flush()
    return event
