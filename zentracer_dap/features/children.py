"""Child processes: every one of them is debugged through this adapter.

debugpy announces a child by the request ``startDebugging`` or the event ``debugpyAttach``, with
``connect`` set to *its own* port, so that a client would bypass us. The port is replaced by one
of ours, and what connects there gets a session like any other, with debugpy's port behind it.
Its name tells which rank it is; debugpy only knows process ids.

A child is held by debugpy until somebody attaches. An editor that does not react must not block
the program: after a grace the adapter attaches by itself (see ``headless.py``), lets the child
run, and writes what a tensor exception found there into the console, since such an editor cannot
show a stop of the child. The first announcement that an editor ignores costs ``GRACE`` seconds,
later ones nothing. Should the editor connect after all, it gets the child.

Line breakpoints work in all children, as debugpy does it (``subProcess``). Tensor exceptions are
armed in the main process and in the ranks of a distributed run, by the option ``children``.
"""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any, cast

from zentracer_dap.features.headless import Headless
from zentracer_dap.protocol.channel import Channel
from zentracer_dap.protocol.handlers import Overrides
from zentracer_dap.protocol.messages import Json, body_of

if TYPE_CHECKING:
    from zentracer_dap.run import Run
    from zentracer_dap.session import Session

GRACE = 3.0
"""Seconds an editor has to react to the first announcement."""

PATIENT_GRACE = 20.0
"""The same for an editor that said that it starts the child's session."""


class Children:
    """The child processes of one debugged program."""

    def __init__(self, run: Run, host: str) -> None:
        self._run = run
        self._socket = socket.create_server((host, 0))
        self._server: asyncio.Server | None = None
        self._target: tuple[str, int] | None = None
        self._unclaimed: dict[int, Json] = {}
        """Announced children that nobody has attached to, by pid."""
        self._headless: dict[int, Headless] = {}
        self._is_ignored = False
        """Whether the editor has let an announcement pass."""

    @property
    def address(self) -> tuple[str, int]:
        """Where editors connect for child sessions."""
        return cast("tuple[str, int]", self._socket.getsockname()[:2])

    async def open(self) -> None:
        """Begin to accept child sessions."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._accept, sock=self._socket)

    def close(self) -> None:
        """Stop accepting child sessions."""
        if self._server is not None:
            self._server.close()
        self._socket.close()

    def reroute(self, configuration: Json) -> Json:
        """Return an announced configuration that leads to us, and remember where it led."""
        connect = cast(Json, configuration.get("connect") or {})
        host, port = self.address
        if (connect["host"], connect["port"]) != (host, port):
            # A grandchild is announced with what its parent was attached by: our own address.
            self._target = (connect["host"], connect["port"])
        pid: int = configuration["subProcessId"]
        rerouted = {
            **configuration,
            "name": self._run.processes.name_of(pid),
            "connect": {**connect, "host": host, "port": port},
        }
        self._unclaimed[pid] = rerouted
        return rerouted

    async def expect(self, session: Session, pid: int, grace: float) -> None:
        """Attach to the child ``pid`` ourselves if the editor does not."""
        await asyncio.sleep(0 if self._is_ignored else grace)
        configuration = self._unclaimed.pop(pid, None)
        if configuration is None:
            return
        self._is_ignored = True
        self._headless[pid] = headless = Headless(self._run, pid)
        await headless.attach(self.address, session.editor.initialize_arguments, configuration)

    async def claim(self, pid: Any) -> None:
        """Let an editor's session have the child ``pid``."""
        self._unclaimed.pop(pid, None)
        headless = self._headless.get(pid)
        if headless is not None and not headless.is_attaching:
            del self._headless[pid]
            await headless.release()

    def is_headless(self, pid: Any) -> bool:
        """Whether the adapter itself follows the child ``pid``: nobody sees its stops."""
        return pid in self._headless

    def _accept(self) -> Channel:
        channel = Channel("editor", self._run.trace)
        channel.hold()
        self._run.spawn(self._serve(channel))
        return channel

    async def _serve(self, channel: Channel) -> None:
        if self._target is None:  # a stranger: no child was announced
            channel.close()
            return
        await self._run.serve_child(channel, *self._target)


def register(overrides: Overrides) -> None:
    """Register the two announcements, and the report of open ports."""
    reason = "debugpy names its own port; the child's session has to come through us."
    overrides.reverse_requests.add("startDebugging", reason, _on_start_debugging)
    overrides.events.add("debugpyAttach", reason, _on_debugpy_attach)
    overrides.events.add(
        "debugpySockets", "The port to connect to is ours, not debugpy's.", _on_sockets
    )


def _on_start_debugging(session: Session, request: Json) -> Json:
    arguments = cast(Json, request["arguments"])
    children = session.run.children
    configuration = children.reroute(cast(Json, arguments["configuration"]))
    pid: int = configuration["subProcessId"]

    def on_answer(response: Json) -> None:
        grace = PATIENT_GRACE if response["success"] else 0
        session.spawn(children.expect(session, pid, grace))

    rerouted = {**request, "arguments": {**arguments, "configuration": configuration}}
    session.editor.channel.send_request(rerouted, on_answer)
    # debugpy accepts no other child until it has its answer, so it gets one at once.
    return {}


def _on_debugpy_attach(session: Session, event: Json) -> Json:
    configuration = session.run.children.reroute(body_of(event))
    pid: int = configuration["subProcessId"]
    session.spawn(session.run.children.expect(session, pid, GRACE))
    return {**event, "body": configuration}


def _on_sockets(session: Session, event: Json) -> Json:
    host, port = session.run.children.address
    sockets = [
        item if item.get("internal") else {**item, "host": host, "port": port}
        for item in cast("list[Json]", body_of(event).get("sockets") or [])
    ]
    return {**event, "body": {**body_of(event), "sockets": sockets}}
