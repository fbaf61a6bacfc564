"""What the sessions of one debugged program share.

A run owns the link to the runtimes, the port for child sessions, the debugpy adapter process,
and the decision when everything is over. The session of the main process is its ``root``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

from zentracer.wire.messages import BreakpointHit, FrameworkLoaded, Notice, Step
from zentracer_dap import launch
from zentracer_dap.features.arming import Arming
from zentracer_dap.features.breakpoint_list import BreakpointList
from zentracer_dap.features.children import Children
from zentracer_dap.features.ending import UNREADY_SECONDS, terminates
from zentracer_dap.features.findings import Findings
from zentracer_dap.features.notices import Notices
from zentracer_dap.features.processes import Processes
from zentracer_dap.features.steps import Steps
from zentracer_dap.features.table import all_overrides
from zentracer_dap.peers.debugpy import OwnDebugpy, dial
from zentracer_dap.peers.runtime import Runtime, RuntimeListener
from zentracer_dap.protocol import errors
from zentracer_dap.protocol.channel import Channel
from zentracer_dap.protocol.errors import DapError
from zentracer_dap.protocol.messages import Json
from zentracer_dap.session import Session, Start
from zentracer_dap.settings import Settings

END_SECONDS = 10.0
"""How long the debugpy adapter may take to end before it is killed."""

_OFF = "ZenTracer is switched off for this program (ZENTRACER=off)."


class Run:
    """One debugged program with all its processes."""

    def __init__(
        self,
        settings: Settings,
        *,
        host: str = "127.0.0.1",
        trace: Callable[[str], None] | None = None,
    ) -> None:
        self.trace = trace
        self.options = launch.Options()
        self.start_configuration: Json = {}
        """The launch or attach configuration of the main process."""
        self.link = RuntimeListener()
        self.arming = Arming(self)
        self.breakpoints = BreakpointList(self)
        self.findings = Findings(self)
        self.notices = Notices(self)
        self.processes = Processes(self)
        self.steps = Steps(self)
        self.children = Children(self, host)
        self.main_pid: int | None = None
        """The launched or attached process: the first one to connect."""
        self.unavailable: str | None = None
        """Why no runtime will ever connect, if that is known."""
        self._own = OwnDebugpy(settings)
        self._root: Session | None = None
        self._child_sessions: set[Session] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._overrides = all_overrides()

    # Serving

    async def serve(self, editor: Channel, connect: Coroutine[Any, Any, None], process: Any) -> int:
        """Serve one editor until everything is over; returns the exit code.

        Args:
            editor: the channel to the editor.
            connect: makes ``editor`` receive data.
            process: the debugpy adapter, started already, or None if there is no debugpy.
        """
        self.link.on_hello = self._on_hello
        self.link.on_gone = self._on_gone
        self.link.on_event = self._on_runtime_event
        self.link.on_problem = self.notices.tell
        await self.link.open()
        await self.children.open()
        debugpy = Channel("debugpy", self.trace)
        root = self._root = Session(self, self._overrides, editor, debugpy, is_root=True)
        if process is None:
            root.failure = errors.debugpy_missing()
        else:
            await self._own.adopt(process, debugpy)
        await connect
        try:
            return await root.ended
        finally:
            await self._close()

    async def serve_child(self, editor: Channel, host: str, port: int) -> None:
        """Serve an editor's connection for a child process; debugpy listens at the address."""
        debugpy = Channel("debugpy", self.trace)
        session = Session(self, self._overrides, editor, debugpy, is_root=False)
        try:
            await dial(host, port, debugpy)
        except DapError as error:
            session.failure = error
        self._child_sessions.add(session)
        editor.release()
        await session.ended
        self._child_sessions.discard(session)
        await session.cancel_tasks()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run ``work`` beside the sessions; it ends with the run at the latest."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # Starting

    async def begin(self, session: Session, command: str, arguments: Json) -> None:
        """Check a start request and get ready for it.

        Raises:
            DapError: the configuration is wrong, or nothing answers where it points to.
        """
        if session.is_root:
            await self.prepare(command, arguments)
            if command == "attach" and (address := _address(arguments)):
                await self._reach(session, address)
        else:
            session.pid = arguments.get("subProcessId")
            await self.children.claim(session.pid)
        session.start = Start(command, arguments)

    async def prepare(self, command: str, arguments: Json) -> None:
        """Take over a configuration for the main process."""
        options = launch.options_of(arguments)
        unavailable = None
        if command == "launch":
            launch.check(arguments)
            if launch.is_switched_off(arguments):
                unavailable = _OFF
        self.unavailable = unavailable
        self.options = options
        self.start_configuration = arguments
        self.main_pid = None
        self.findings.restarted()
        self.breakpoints.restarted()

    def start_arguments(self, command: str, arguments: Json) -> Json:
        """Return the arguments to start debugpy with."""
        if command != "launch":
            return arguments
        env = launch.environment(arguments, self.link.address, self.link.token)
        return {**arguments, "env": env}

    async def renew_debugpy(self, session: Session) -> None:
        """Replace the debugpy behind ``session`` by a fresh one, for a restart."""
        assert session.start is not None
        session.debugpy.close()
        debugpy = Channel("debugpy", self.trace)
        address = _address(session.start.arguments)
        if session.start.command == "attach" and address:
            await dial(*address, debugpy)
        else:
            await self._own.end(END_SECONDS)
            await self._own.spawn(debugpy)
        session.listen_to(debugpy)

    # Ending

    async def editor_closed(self, session: Session, problem: str | None) -> None:
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
            arguments: Json = {"terminateDebuggee": terminates(session, {})}
            seconds = END_SECONDS if session.is_ready else UNREADY_SECONDS
            answer = session.debugpy.request("disconnect", arguments)
            await asyncio.wait([answer], timeout=seconds)
        await self.finish(session)

    async def debugpy_closed(self, session: Session) -> None:
        """End a session whose debugpy is gone; say why if nobody asked for it."""
        if session.ended.done():
            return
        if session.is_ending or session.editor.has_terminated or not session.is_root:
            await self._after_last_answer(session)
            return
        error = await self._own.why_it_ended()
        session.failure = error
        session.exit_code = 1
        session.fail_start(error)
        if session.start is None:
            return  # the launch is still to come; it gets the error as its answer
        session.editor.tell(error.text)
        session.editor.terminated()
        await self.finish(session)

    async def finish(self, session: Session) -> None:
        """Close everything that belongs to ``session``."""
        if session.is_finishing:
            return
        session.is_finishing = True
        session.debugpy.close()
        if session.is_root:
            for child in list(self._child_sessions):
                # debugpy's adapter stays for as long as one of its clients does.
                child.editor.terminated()
                await self.finish(child)
            if not session.leaves_running:
                await self._own.end(END_SECONDS if session.is_ready else UNREADY_SECONDS)
        session.end(session.exit_code)

    async def _after_last_answer(self, session: Session) -> None:
        """Let the handler of ``disconnect`` send its answer before the editor's side closes."""
        await asyncio.sleep(0)
        if not session.is_root:
            session.editor.terminated()
        await self.finish(session)

    async def _close(self) -> None:
        root = self._root
        self.link.close()
        self.children.close()
        for task in list(self._tasks):
            task.cancel()
        if root is not None:
            await root.cancel_tasks()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # Talking to the editor

    def tell(self, text: str) -> None:
        """Show ``text`` in the console of the main session."""
        if self._root is not None:
            self._root.editor.tell(text)

    def editor_event(self, name: str, body: Json) -> None:
        """Send an event to the editor's main session."""
        if self._root is not None:
            self._root.editor.channel.event(name, body)

    def flush(self) -> None:
        """Send the states that wait to be sent: the program is over."""
        for feature in (self.breakpoints, self.findings, self.processes, self.steps):
            feature.flush()

    # Runtimes

    def found(self, session: Session, hit: BreakpointHit) -> None:
        """Count what a process of ours has found."""
        pid = self.main_pid if session.is_root else session.pid
        self.findings.add(hit, pid or 0)
        self.breakpoints.hit(hit)

    def is_unavailable(self, reason: str) -> None:
        """Say why no runtime will connect."""
        self.unavailable = reason
        self.notices.tell(reason)
        self.breakpoints.changed()

    def _on_hello(self, runtime: Runtime) -> None:
        if self.main_pid is None:
            self.main_pid = runtime.pid
        self.notices.welcome(runtime)
        self.processes.changed()
        self.spawn(self.arming.welcome(runtime))

    def _on_gone(self, runtime: Runtime) -> None:
        self.arming.forget(runtime.pid)
        self.steps.gone(runtime.pid)
        self.processes.gone(runtime)

    def _on_runtime_event(self, runtime: Runtime, body: Any) -> None:
        if isinstance(body, Notice):
            self.notices.heard(body)
        elif isinstance(body, Step):
            self.steps.seen(runtime, body)
        elif isinstance(body, FrameworkLoaded):
            self.processes.loaded(runtime, body)

    # debugpy

    async def _reach(self, session: Session, address: tuple[str, int]) -> None:
        """Put the debugpy adapter of a program that listens behind ``session``."""
        debugpy = Channel("debugpy", self.trace)
        await dial(*address, debugpy)
        session.listen_to(debugpy)
        await debugpy.request("initialize", session.editor.initialize_arguments)
        await self._own.end(END_SECONDS)


def _address(arguments: Json) -> tuple[str, int] | None:
    """Where a program listens, in today's spelling (``connect``) or in the old one."""
    connect = cast(Json, arguments.get("connect") or arguments)
    port: Any = connect.get("port")
    if port is None:
        return None
    try:
        return str(connect.get("host") or "127.0.0.1"), int(port)
    except (TypeError, ValueError):
        raise errors.bad_argument("connect.port", "a port number") from None
