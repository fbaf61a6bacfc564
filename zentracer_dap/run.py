"""What the sessions of one debugged program share.

A run owns the link to the runtimes, the port for child sessions, the debugpy adapter process,
and the decision when everything is over. The session of the main process is its ``root``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from zentracer.wire.messages import BreakpointHit
from zentracer_dap import launch
from zentracer_dap.features import runtimes
from zentracer_dap.features.arming import Arming
from zentracer_dap.features.breakpoint_list import BreakpointList
from zentracer_dap.features.children import Children
from zentracer_dap.features.data_breakpoints import DataBreakpoints
from zentracer_dap.features.eager import EagerRuns
from zentracer_dap.features.ending import end_seconds
from zentracer_dap.features.findings import Findings
from zentracer_dap.features.function_breakpoints import FunctionBreakpoints
from zentracer_dap.features.holding import Holding
from zentracer_dap.features.notices import Notices
from zentracer_dap.features.patches import PatchList
from zentracer_dap.features.processes import Processes
from zentracer_dap.features.reaching import reach
from zentracer_dap.features.steps import Steps
from zentracer_dap.features.table import all_overrides
from zentracer_dap.features.view_data_breakpoints import ViewDataBreakpoints
from zentracer_dap.peers.debugpy import OwnDebugpy, address_of, dial
from zentracer_dap.peers.runtime import RuntimeListener
from zentracer_dap.protocol import errors
from zentracer_dap.protocol.channel import Channel
from zentracer_dap.protocol.errors import DapError
from zentracer_dap.protocol.messages import Json
from zentracer_dap.session import Session, Start
from zentracer_dap.settings import Settings

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
        self.function_breakpoints = FunctionBreakpoints(self)
        self.data_breakpoints = DataBreakpoints(self)
        self.view_data = ViewDataBreakpoints(self)
        self.children = Children(self, host)
        self.holding = Holding(self)
        self.eager = EagerRuns(self)
        self.patches = PatchList(self)
        self.main_pid: int | None = None
        """The launched or attached process: the first one to connect."""
        self.unavailable: str | None = None
        """Why no runtime will ever connect, if that is known."""
        self.own_debugpy = OwnDebugpy(settings)
        """The debugpy adapter that we started."""
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
        runtimes.listen(self)
        await self.link.open()
        await self.children.open()
        debugpy = Channel("debugpy", self.trace)
        root = self._root = Session(self, self._overrides, editor, debugpy, is_root=True)
        if process is None:
            root.failure = errors.debugpy_missing()
        else:
            await self.own_debugpy.adopt(process, debugpy)
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
            if command == "attach" and (address := address_of(arguments)):
                await reach(session, address)
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
        self.function_breakpoints.list.restarted()
        self.data_breakpoints.restarted()
        self.holding.restarted()
        self.eager.restarted()
        self.patches.restarted()

    def forget_processes(self) -> None:
        """Let no process of the last start be taken for the main process of the next one.

        Its children may outlive it, and connect at any time.
        """
        self.link.renew_token()
        self.main_pid = None

    def start_arguments(self, command: str, arguments: Json) -> Json:
        """Return the arguments to start debugpy with."""
        if command != "launch":
            return arguments
        env = launch.environment(arguments, self.link.address, self.link.token)
        return {**arguments, "env": env}

    # Ending

    async def finish(self, session: Session) -> None:
        """Close everything that belongs to ``session``."""
        if session.is_finishing:
            return
        session.is_finishing = True
        self.holding.gone(session)
        session.debugpy.close()
        if session.is_root:
            for child in list(self._child_sessions):
                # debugpy's adapter stays for as long as one of its clients does.
                child.editor.terminated()
                await self.finish(child)
            if not session.leaves_running:
                await self.own_debugpy.end(end_seconds(session))
        session.end(session.exit_code)

    async def _close(self) -> None:
        root = self._root
        self.link.close()
        self.children.close()
        for task in list(self._tasks):
            task.cancel()
        if root is not None:
            await root.cancel_tasks()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def sessions(self) -> list[Session]:
        """Return the sessions of all processes that a client has connected to."""
        return [*([self._root] if self._root else []), *self._child_sessions]

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
        for feature in (
            self.breakpoints,
            self.view_data,
            self.findings,
            self.processes,
            self.steps,
        ):
            feature.flush()

    def found(self, session: Session, hit: BreakpointHit) -> None:
        """Count what a process of ours has found."""
        pid = self.main_pid if session.is_root else session.pid
        if hit.reason == "exception":  # the others are breakpoints, not faults
            self.findings.add(hit, pid or 0)
        self.breakpoints.hit(hit)
        self.view_data.hit(hit)

    def session_of(self, pid: int) -> Session | None:
        """Return the editor's session for a process of ours; the main one if it has none."""
        children = (session for session in self._child_sessions if session.pid == pid)
        return next(children, self._root)

    def is_unavailable(self, reason: str) -> None:
        """Say why no runtime will connect."""
        self.unavailable = reason
        self.notices.tell(reason)
        self.breakpoints.changed()
