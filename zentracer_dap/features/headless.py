"""A child process that no editor attaches to: the adapter does, so that the program goes on.

It connects to the adapter's own port as any client would, so the child gets the same overrides.
No line breakpoints are set, since nobody could see the stop; a tensor exception is written to
the console of the main session, and the child is resumed.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from zentracer_dap.protocol.channel import Channel
from zentracer_dap.protocol.messages import Json, body_of

if TYPE_CHECKING:
    from zentracer_dap.run import Run


class Headless:
    """Our own client of one child process."""

    def __init__(self, run: Run, pid: int) -> None:
        self._run = run
        self._pid = pid
        self._channel = Channel(f"headless {pid}", run.trace)
        self._channel.on_message = self._on_message
        self._initialized = asyncio.Event()
        self._channel.on_closed = lambda problem: self._initialized.set()
        self.is_attaching = True

    async def attach(self, address: tuple[str, int], editor: Json, configuration: Json) -> None:
        """Attach to the child and let it run."""
        await asyncio.get_running_loop().create_connection(lambda: self._channel, *address)
        # Grandchildren are announced on this connection, so they come back to the adapter too.
        arguments = {**editor, "supportsStartDebuggingRequest": False}
        await self._channel.request("initialize", arguments)
        attached = self._channel.request("attach", configuration)
        await self._initialized.wait()
        self.is_attaching = False
        await self._channel.request("configurationDone")
        await attached

    async def release(self) -> None:
        """Leave the child to an editor."""
        await self._channel.request("disconnect", {"terminateDebuggee": False})
        self._channel.close()

    def _on_message(self, message: Json) -> None:
        if message["type"] == "request":
            self._channel.respond(message)
        elif message["event"] == "initialized":
            self._initialized.set()
        elif message["event"] == "stopped":
            self._run.spawn(self._go_on(body_of(message)))
        elif message["event"] == "terminated":
            self._channel.request("disconnect")

    async def _go_on(self, stopped: Json) -> None:
        thread: Any = stopped.get("threadId")
        info = body_of(await self._channel.request("exceptionInfo", {"threadId": thread}))
        details: Any = info.get("details") or {}
        if "zentracer" in details:
            origin = details["zentracer"]["origin"]
            self._run.notices.say(
                f"Process {self._pid}: {details['message']}\n"
                f"  at {origin['path']}:{origin['line']}\n"
                "  The process goes on: this editor does not show child processes."
            )
        self._channel.request("continue", {"threadId": thread})
