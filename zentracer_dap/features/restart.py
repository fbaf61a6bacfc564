"""``restart``: the same session, with the program started anew and its configuration kept.

debugpy cannot restart, so a fresh debugpy adapter takes over behind the same editor: it is
initialised, started with the last (or new) arguments and gets the whole configuration again.
Breakpoint ids that the editor knows are kept by translation.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from zentracer_dap.features.injection import inject
from zentracer_dap.features.reaching import renew
from zentracer_dap.protocol import errors
from zentracer_dap.protocol.handlers import Overrides
from zentracer_dap.protocol.messages import Json, arguments_of, body_of

if TYPE_CHECKING:
    from zentracer_dap.session import Session

INITIALIZED_SECONDS = 90.0
"""debugpy itself gives up on a start after 60 s."""

_GENERATION = 100_000
"""Distance between the breakpoint ids of one start and of the next."""


class Replay:
    """The configuration of a session, to be sent to another debugpy, and its breakpoint ids."""

    def __init__(self) -> None:
        self.threads: set[int] = set()
        """Threads that the editor believes to exist."""
        self.initialized: asyncio.Future[None] | None = None
        """Set while a restart waits for ``initialized``, which the editor must not see again."""
        self.is_restarting = False
        self._requests: dict[tuple[str, Any], Json] = {}
        self._known: dict[tuple[str, Any], list[Any]] = {}
        self._translated: dict[int, int] = {}
        self._offset = 0

    def record(self, request: Json) -> None:
        """Remember a configuration request; each file has one set of line breakpoints."""
        self._requests[_key(request)] = request

    def requests(self) -> list[Json]:
        """Return what has to be sent again."""
        return list(self._requests.values())

    def answered(self, request: Json, response: Json) -> Json:
        """Return ``response`` with ids of this generation, and remember which ids they are."""
        body = body_of(response)
        if not body.get("breakpoints"):
            return response
        breakpoints = [self.with_known_id(item) for item in body["breakpoints"]]
        self._known[_key(request)] = [item.get("id") for item in breakpoints]
        return {**response, "body": {**body, "breakpoints": breakpoints}}

    def next_generation(self) -> None:
        """Begin to number afresh, as the new debugpy does."""
        self._offset += _GENERATION
        self._translated.clear()

    def translate(self, request: Json, response: Json) -> None:
        """Learn from the answer to a request sent again which old ids its new ids stand for."""
        items = cast("list[Json]", body_of(response).get("breakpoints") or [])
        for old, item in zip(self._known.get(_key(request), []), items):
            if isinstance(old, int) and isinstance(item.get("id"), int):
                self._translated[item["id"]] = old

    def with_known_id(self, item: Json) -> Json:
        """Return a breakpoint with the id that the editor knows."""
        return {**item, "id": self._id(item["id"])} if "id" in item else item

    def with_known_ids(self, stopped: Json) -> Json:
        """Return the body of a ``stopped`` with the ids that the editor knows."""
        if not self._offset or not stopped.get("hitBreakpointIds"):
            return stopped
        return {**stopped, "hitBreakpointIds": [self._id(i) for i in stopped["hitBreakpointIds"]]}

    def _id(self, number: Any) -> Any:
        if not isinstance(number, int):
            return number
        return self._translated.get(number, number + self._offset)


def _key(request: Json) -> tuple[str, Any]:
    """Return what a configuration request replaces: the like for the same file."""
    source = cast(Json, arguments_of(request).get("source") or {})
    return request["command"], source.get("path")


def register(overrides: Overrides) -> None:
    """Register ``restart`` and what has to be remembered for it."""
    overrides.requests.add("restart", "debugpy cannot restart.", _on_restart)
    overrides.requests.add(
        "setBreakpoints", "Remembered for a restart, ids as the editor knows them.", _on_set
    )
    for command in ("setDebuggerProperty", "setPydevdSourceMap"):
        overrides.requests.add(command, "Remembered for a restart.", _on_configuration)
    overrides.events.add("breakpoint", "Ids as the editor knows them.", _on_breakpoint)
    overrides.events.add("thread", "A restart ends the threads that there were.", _on_thread)


def _on_set(session: Session, request: Json) -> None:
    session.replay.record(request)

    def answer(response: Json) -> None:
        known = session.run.eager.corrected(session, response)
        session.relay(request, session.replay.answered(request, known))

    session.forward(request, answer)


def _on_configuration(session: Session, request: Json) -> None:
    session.replay.record(request)
    session.forward(request)


def _on_breakpoint(session: Session, event: Json) -> Json:
    body = body_of(event)
    item = cast(Json, body.get("breakpoint") or {})
    return {**event, "body": {**body, "breakpoint": session.replay.with_known_id(item)}}


def _on_thread(session: Session, event: Json) -> Json:
    body = body_of(event)
    threads, thread = session.replay.threads, body.get("threadId", 0)
    if body.get("reason") == "started":
        threads.add(thread)
    else:
        threads.discard(thread)
    return event


def _on_restart(session: Session, request: Json) -> Any:
    start = session.start
    if start is None or not session.is_root:
        raise errors.not_restartable("restart the session of the main process.")
    if start.command == "attach" and "listen" in start.arguments:
        raise errors.not_restartable("the program has to connect again by itself.")
    if session.replay.is_restarting:
        raise errors.not_restartable("it is being restarted already.")
    new: Any = arguments_of(request).get("arguments")
    return _restart(session, cast(Json, new) if isinstance(new, dict) else start.arguments)


async def _restart(session: Session, arguments: Json) -> Json:
    assert session.start is not None
    command = session.start.command
    session.replay.is_restarting = True
    try:
        await session.run.prepare(command, arguments)
        await _end_old(session, terminate=command == "launch")
        await renew(session)
        session.run.forget_processes()
        await _start_new(session, command, arguments)
    finally:
        session.replay.is_restarting = False
    return {}


async def _end_old(session: Session, *, terminate: bool) -> None:
    """End the program; the editor hears only that its threads are gone."""
    old = session.debugpy
    old.on_message = lambda message: None
    old.on_closed = lambda problem: None
    session.hits.forget()
    await asyncio.wait([old.request("disconnect", {"terminateDebuggee": terminate})], timeout=10)
    for thread in sorted(session.replay.threads):
        session.editor.channel.event("thread", {"reason": "exited", "threadId": thread})
    session.replay.threads.clear()


async def _start_new(session: Session, command: str, arguments: Json) -> None:
    replay = session.replay
    replay.next_generation()
    replay.initialized = asyncio.get_running_loop().create_future()
    await _succeed(session, "initialize", session.editor.initialize_arguments)
    started = session.debugpy.request(command, session.run.start_arguments(command, arguments))
    done, _ = await asyncio.wait(
        [started, replay.initialized],
        timeout=INITIALIZED_SECONDS,
        return_when=asyncio.FIRST_COMPLETED,
    )
    if not done:
        raise errors.timed_out(command, INITIALIZED_SECONDS)
    if replay.initialized.done():
        await inject(session)
        for request in replay.requests():
            response = await session.debugpy.request(request["command"], arguments_of(request))
            replay.translate(request, response)
        await _succeed(session, "configurationDone", {})
    replay.initialized = None
    _expect_success(await started)


async def _succeed(session: Session, command: str, arguments: Json) -> None:
    _expect_success(await session.debugpy.request(command, arguments))


def _expect_success(response: Json) -> None:
    if not response["success"]:
        raise errors.restart_failed(str(response.get("message")))
