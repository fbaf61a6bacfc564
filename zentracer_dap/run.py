"""What the sessions of one debugged program share.

A run owns the link to the runtimes, the port for child sessions, the debugpy adapter process,
and the decision when everything is over. The session of the main process is its ``root``.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable, Coroutine
from typing import Any, cast

from zentracer.wire.codec import to_json
from zentracer.wire.messages import Notice
from zentracer_dap import launch
from zentracer_dap.features.arming import Arming
from zentracer_dap.features.children import Children
from zentracer_dap.features.ending import UNREADY_SECONDS, terminates
from zentracer_dap.features.table import all_overrides
from zentracer_dap.peers.debugpy import DebugpyProcess, dial
from zentracer_dap.peers.runtime import Runtime, RuntimeListener
from zentracer_dap.peers.spawn import spawn_debugpy
from zentracer_dap.protocol import errors
from zentracer_dap.protocol.channel import Channel
from zentracer_dap.protocol.errors import DapError
from zentracer_dap.protocol.messages import Json, body_of
from zentracer_dap.session import Session, Start

END_SECONDS = 10.0
"""How long the debugpy adapter may take to end before it is killed."""

INJECT_SECONDS = 20.0
"""How long a process may take to load the runtime; it may be importing something itself."""

_OFF = "ZenTracer is switched off for this program (ZENTRACER=off)."


class Run:
    """One debugged program with all its processes."""

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        debugpy_arguments: list[str] | None = None,
        trace: Callable[[str], None] | None = None,
    ) -> None:
        self.trace = trace
        self.options = launch.Options()
        self.link = RuntimeListener()
        self.arming = Arming(self)
        self.children = Children(self, host)
        self.main_pid: int | None = None
        """The launched or attached process: the first one to connect."""
        self.unavailable: str | None = None
        """Why no runtime will ever connect, if that is known."""
        self._debugpy_arguments = debugpy_arguments or []
        self._process: DebugpyProcess | None = None
        self._root: Session | None = None
        self._child_sessions: set[Session] = set()
        self._said: set[str] = set()
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
        self.link.on_event = self._on_runtime_event
        self.link.on_problem = self.say_once
        await self.link.open()
        await self.children.open()
        debugpy = Channel("debugpy", self.trace)
        root = self._root = Session(self, self._overrides, editor, debugpy, is_root=True)
        if process is None:
            root.failure = errors.debugpy_missing()
        else:
            await self._adopt(process, debugpy)
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
        self.unavailable = None
        if command == "launch":
            launch.check(arguments)
            if launch.is_switched_off(arguments):
                self.unavailable = _OFF
        self.options = options
        self.main_pid = None

    def start_arguments(self, command: str, arguments: Json) -> Json:
        """Return the arguments to start debugpy with."""
        if command != "launch":
            return arguments
        env = launch.environment(arguments, self.link.address, self.link.token)
        return {**arguments, "env": env}

    async def initialized(self, session: Session) -> None:
        """Load the runtime into a process that was attached to and does not have it."""
        assert session.start is not None
        connected = {runtime.pid for runtime in self.link.runtimes}
        if session.start.command != "attach" or session.pid in connected:
            return
        expression = launch.attach_expression(self.link.address, self.link.token, self.options.text)
        answer = session.debugpy.request("evaluate", {"expression": expression})
        done, _ = await asyncio.wait([answer], timeout=INJECT_SECONDS)
        reason = _problem_of(answer.result()) if done else "the process does not react"
        if reason:
            self.unavailable = f"ZenTracer is not available in this process: {reason}"
            self.say_once(self.unavailable)

    async def renew_debugpy(self, session: Session) -> None:
        """Replace the debugpy behind ``session`` by a fresh one, for a restart."""
        assert session.start is not None
        session.debugpy.close()
        debugpy = Channel("debugpy", self.trace)
        address = _address(session.start.arguments)
        if session.start.command == "attach" and address:
            await dial(*address, debugpy)
        else:
            await self._end_process()
            process = spawn_debugpy(self._debugpy_arguments)
            if process is None:
                raise errors.debugpy_missing()
            await self._adopt(process, debugpy)
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
        error = await self._why_debugpy_ended()
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
                await self._end_process(END_SECONDS if session.is_ready else UNREADY_SECONDS)
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

    # Talking to the user

    def say(self, text: str) -> None:
        """Show ``text`` in the console of the main session."""
        if self._root is not None:
            self._root.editor.tell(text)

    def say_once(self, text: str) -> None:
        """Show ``text``, unless it was shown before."""
        if text not in self._said:
            self._said.add(text)
            self.say(text)

    def editor_event(self, name: str, body: Json) -> None:
        """Send an event to the editor's main session."""
        if self._root is not None:
            self._root.editor.channel.event(name, body)

    # Runtimes

    def _on_hello(self, runtime: Runtime) -> None:
        if self.main_pid is None:
            self.main_pid = runtime.pid
        self.spawn(self.arming.welcome(runtime))

    def _on_runtime_event(self, runtime: Runtime, name: str, body: Any) -> None:
        if isinstance(body, Notice):
            self.arming.notice(body)
        elif name == "step":
            self.editor_event("zentracer/step", {**to_json(body), "pid": runtime.pid})

    # debugpy

    async def _adopt(self, process: subprocess.Popen[bytes], channel: Channel) -> None:
        self._process = DebugpyProcess(process, channel)
        await self._process.open()

    async def _end_process(self, seconds: float = END_SECONDS) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.channel.close()
            await process.end(seconds)

    async def _why_debugpy_ended(self) -> DapError:
        if self._process is not None:
            return await self._process.why_it_ended()
        return errors.debugpy_ended("")

    async def _reach(self, session: Session, address: tuple[str, int]) -> None:
        """Put the debugpy adapter of a program that listens behind ``session``."""
        debugpy = Channel("debugpy", self.trace)
        await dial(*address, debugpy)
        session.listen_to(debugpy)
        await debugpy.request("initialize", session.editor.initialize_arguments)
        await self._end_process()


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


def _problem_of(response: Json) -> str | None:
    if not response["success"]:
        return str(response.get("message"))
    result = str(body_of(response).get("result") or "")
    return result if result not in ("", "None") else None
