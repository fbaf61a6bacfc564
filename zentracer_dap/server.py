"""Serving editors: one over stdio, or any number over TCP."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path

from zentracer_dap.peers.spawn import spawn_debugpy
from zentracer_dap.protocol.channel import Channel, over_pipes
from zentracer_dap.run import Run
from zentracer_dap.settings import Settings

ENDPOINTS = "DEBUGPY_ADAPTER_ENDPOINTS"
"""Names a file in which debugpy announces its ports; over TCP the port is ours to announce."""


def serve_stdio(settings: Settings, process: subprocess.Popen[bytes] | None) -> int:
    """Serve the editor at stdin and stdout; returns the exit code.

    Args:
        settings: the command line.
        process: the debugpy adapter, None if debugpy is not installed.
    """
    # Whatever prints by accident must not get between the messages.
    stdin, stdout = sys.stdin.buffer, os.fdopen(os.dup(1), "wb", 0)
    os.dup2(2, 1)

    async def serve() -> int:
        editor = Channel("editor", trace)
        run = Run(settings, trace=trace)
        return await run.serve(editor, over_pipes(editor, stdin, stdout), process)

    with _tracing(settings) as trace:
        return asyncio.run(serve())


def serve_tcp(settings: Settings, host: str, port: int) -> None:
    """Serve every editor that connects, each with a debugpy of its own, until interrupted."""
    with _tracing(settings) as trace, contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve_tcp(settings, host, port, trace))


async def _serve_tcp(
    settings: Settings, host: str, port: int, trace: Callable[[str], None] | None
) -> None:
    sessions: set[asyncio.Task[int]] = set()
    endpoints = os.environ.pop(ENDPOINTS, None)

    def accept() -> Channel:
        editor = Channel("editor", trace)
        editor.hold()
        run = Run(settings, host=host, trace=trace)
        process = spawn_debugpy(settings.debugpy_arguments())
        task = asyncio.get_running_loop().create_task(run.serve(editor, _release(editor), process))
        sessions.add(task)
        task.add_done_callback(sessions.discard)
        return editor

    server = await asyncio.get_running_loop().create_server(accept, host, port)
    address = server.sockets[0].getsockname()[:2]
    with _announced(endpoints, *address):
        print(f"Listening for DAP clients at {address[0]}:{address[1]}", flush=True)
        async with server:
            await server.serve_forever()


async def _release(editor: Channel) -> None:
    editor.release()


@contextlib.contextmanager
def _announced(endpoints: str | None, host: str, port: int) -> Generator[None]:
    """Write the file that tells where we listen, as debugpy does, and remove it at the end."""
    if endpoints is None:
        yield
        return
    Path(endpoints).write_text(json.dumps({"client": {"host": host, "port": port}}) + "\n")
    try:
        yield
    finally:
        Path(endpoints).unlink(missing_ok=True)


@contextlib.contextmanager
def _tracing(settings: Settings) -> Generator[Callable[[str], None] | None]:
    """Open the transcript, where there is to be one."""
    if settings.log_dir is None:
        yield None
        return
    Path(settings.log_dir).mkdir(parents=True, exist_ok=True)
    path = Path(settings.log_dir) / f"zentracer_dap-{os.getpid()}.log"
    with path.open("w", encoding="utf-8", buffering=1) as file:
        start = time.monotonic()
        yield lambda text: print(f"{time.monotonic() - start:9.3f} {text}", file=file)
