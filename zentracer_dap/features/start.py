"""``launch`` and ``attach``: the runtime is brought into the program, mistakes are said at once.

On launch the environment brings the runtime in; on attach the environment is not ours, so once
debugpy is ready an expression evaluated in the process loads it, unseen by the editor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from zentracer_dap import launch
from zentracer_dap.features.injection import inject
from zentracer_dap.protocol import errors
from zentracer_dap.protocol.errors import DapError
from zentracer_dap.protocol.handlers import Overrides
from zentracer_dap.protocol.messages import Json, arguments_of, body_of

if TYPE_CHECKING:
    from zentracer_dap.session import Session


def register(overrides: Overrides) -> None:
    """Register the requests that start a session, and ``initialized``."""
    overrides.requests.add(
        "launch", "The environment brings the runtime in; mistakes are named early.", _on_launch
    )
    overrides.requests.add(
        "attach", "debugpy's stdio adapter cannot connect to a program that listens.", _on_attach
    )
    overrides.events.add(
        "initialized", "An attached process gets the runtime before it is configured.", _on_ready
    )
    overrides.events.add(
        "output", "debugpy goes on waiting after it failed to get into a process.", _on_output
    )
    overrides.reverse_requests.add(
        "runInTerminal", "PYTHONPATH can only be extended in the terminal.", _on_terminal
    )


def _on_launch(session: Session, request: Json) -> Any:
    return _start(session, request)


def _on_attach(session: Session, request: Json) -> Any:
    return _start(session, request)


async def _start(session: Session, request: Json) -> Json | None:
    command, arguments = request["command"], arguments_of(request)
    try:
        if session.failure is not None:
            raise session.failure
        if session.start is not None:
            raise errors.already_started()
        await session.run.begin(session, command, arguments)
    except DapError as error:
        session.fail(request, error)
        if session.start is None:
            session.editor.terminated()
        return None
    started = {**request, "arguments": session.run.start_arguments(command, arguments)}

    def answer(response: Json) -> None:
        if not response["success"] and not session.debugpy.is_open:
            return  # debugpy is gone; whoever finds out why answers
        session.relay(request, response)
        if not response["success"]:
            session.editor.terminated()

    session.forward(started, answer)
    return None


def _on_ready(session: Session, event: Json) -> Json | None:
    session.is_ready = True
    waiting = session.replay.initialized
    if waiting is not None:
        if not waiting.done():
            waiting.set_result(None)
        return None
    session.spawn(inject(session))
    return event


def _on_output(session: Session, event: Json) -> Json:
    start = session.start
    if (
        not session.is_ready
        and start is not None
        and "processId" in start.arguments
        and body_of(event).get("output", "").startswith("Attach to PID failed")
    ):
        session.fail_start(errors.injection_failed(start.arguments["processId"]))
        session.editor.terminated()
    return event


def _on_terminal(session: Session, request: Json) -> None:
    arguments = session.start.arguments if session.start else {}
    changed = launch.in_terminal(arguments, cast(Json, request["arguments"]))
    session.forward_reverse({**request, "arguments": changed})
