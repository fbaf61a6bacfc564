"""The arrow to debugpy: its adapter process, and what it implements."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import threading
from typing import IO, Any, cast

from zentracer_dap.debugpy_main import TOO_OLD
from zentracer_dap.peers.spawn import spawn_debugpy
from zentracer_dap.protocol import errors
from zentracer_dap.protocol.channel import Channel, over_pipes, set_no_delay
from zentracer_dap.protocol.errors import DapError
from zentracer_dap.protocol.messages import Json
from zentracer_dap.settings import Settings

IMPLEMENTED = frozenset(
    (
        "attach",
        "completions",
        "configurationDone",
        "continue",
        "debugpySystemInfo",
        "disconnect",
        "evaluate",
        "exceptionInfo",
        "goto",
        "gotoTargets",
        "initialize",
        "launch",
        "modules",
        "next",
        "pause",
        "pydevdSystemInfo",
        "scopes",
        "setBreakpoints",
        "setDebuggerProperty",
        "setExceptionBreakpoints",
        "setExpression",
        "setFunctionBreakpoints",
        "setPydevdSourceMap",
        "setVariable",
        "source",
        "stackTrace",
        "stepIn",
        "stepInTargets",
        "stepOut",
        "terminate",
        "threads",
        "variables",
    )
)
"""Requests that debugpy answers. Any other makes it hang, so it must never get one."""

_STDERR_KEPT = 4000

END_SECONDS = 10.0
"""How long the debugpy adapter may take to end before it is killed."""


class DebugpyProcess:
    """A debugpy adapter that we started, and the channel to it."""

    def __init__(
        self, process: subprocess.Popen[bytes], channel: Channel, settings: Settings
    ) -> None:
        self.channel = channel
        self._is_recorded = settings.errors_to is not None
        self._process = process
        self._said = bytearray()

    async def open(self) -> None:
        """Connect the channel to the process's pipes."""
        process = self._process
        assert process.stdin and process.stdout and process.stderr
        # A thread of our own: one of the loop's would hold up the end of the adapter for as long
        # as a detached program keeps its debugpy adapter alive.
        reader = threading.Thread(target=self._keep_stderr, args=(process.stderr,), daemon=True)
        reader.start()
        await over_pipes(self.channel, process.stdout, process.stdin)

    async def wait(self, seconds: float) -> int | None:
        """Wait for the process to end; None if it has not within ``seconds``."""
        loop = asyncio.get_running_loop()
        with contextlib.suppress(subprocess.TimeoutExpired):
            return await loop.run_in_executor(None, self._process.wait, seconds)
        return None

    def let_end(self) -> None:
        """What debugpy complains of from now on is nobody's error: that it loses its client."""
        self._is_recorded = False

    async def end(self, seconds: float) -> int:
        """Wait for the process to end, kill it if it does not; returns the exit code."""
        code = await self.wait(seconds)
        if code is None:
            self._process.kill()
            code = await self.wait(seconds)
        return code if code is not None else 1

    async def why_it_ended(self) -> DapError:
        """Return the error to report after an unexpected end."""
        code = await self.end(5)
        said = self._said.decode(errors="replace").strip()
        if code == TOO_OLD:
            return errors.debugpy_too_old(said)
        return errors.debugpy_ended(said.rpartition("\n")[2])

    def _keep_stderr(self, stderr: IO[bytes]) -> None:
        """Drain stderr, or the process would block on it; keep the end of it."""
        with stderr:
            while data := os.read(stderr.fileno(), 4096):
                self._said = (self._said + data)[-_STDERR_KEPT:]
                if self._is_recorded:
                    os.write(2, data)


class OwnDebugpy:
    """The debugpy adapter that a run has started, if it has; a restart replaces it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._process: DebugpyProcess | None = None

    async def adopt(self, process: subprocess.Popen[bytes], channel: Channel) -> None:
        """Take over a process and connect ``channel`` to it."""
        self._process = DebugpyProcess(process, channel, self._settings)
        await self._process.open()

    async def spawn(self, channel: Channel) -> None:
        """Start a process and connect ``channel`` to it.

        Raises:
            DapError: debugpy is not installed.
        """
        process = spawn_debugpy(self._settings.debugpy_arguments())
        if process is None:
            raise errors.debugpy_missing()
        await self.adopt(process, channel)

    def let_end(self) -> None:
        """The process is about to be asked to end."""
        if self._process is not None:
            self._process.let_end()

    async def end(self, seconds: float = END_SECONDS) -> None:
        """Let the process end, within ``seconds``."""
        process, self._process = self._process, None
        if process is not None:
            process.let_end()
            process.channel.close()
            await process.end(seconds)

    async def why_it_ended(self) -> DapError:
        """Return the error to report after an unexpected end."""
        if self._process is not None:
            return await self._process.why_it_ended()
        return errors.debugpy_ended("")


def address_of(arguments: Json) -> tuple[str, int] | None:
    """Where a program listens, in today's spelling (``connect``) or in the old one."""
    connect = cast(Json, arguments.get("connect") or arguments)
    port: Any = connect.get("port")
    if port is None:
        return None
    try:
        return str(connect.get("host") or "127.0.0.1"), int(port)
    except (TypeError, ValueError):
        raise errors.bad_argument("connect.port", "a port number") from None


async def dial(host: str, port: int, channel: Channel) -> None:
    """Connect ``channel`` to a debugpy adapter that listens at ``host``:``port``.

    Raises:
        DapError: nothing answers there.
    """
    loop = asyncio.get_running_loop()
    try:
        transport, _ = await loop.create_connection(lambda: channel, host, port)
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise errors.connection_refused(host, port, reason) from None
    sock: Any = transport.get_extra_info("socket")
    set_no_delay(sock)
