"""One editor connection and the debugpy adapter behind it.

The default is to pass every message through untouched. What differs is in ``features/``, in a
table of overrides with a reason each. Everything runs on one thread, the event loop's.

Architecture invariant: a request that debugpy does not implement never reaches it; debugpy would
not answer it and would hang for every later request.
"""

from __future__ import annotations

import asyncio
import contextlib
import traceback
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zentracer_dap.features import ending
from zentracer_dap.features.cancel import numbered
from zentracer_dap.features.explanations import Explanations
from zentracer_dap.features.hits import Hits
from zentracer_dap.features.restart import Replay
from zentracer_dap.peers.debugpy import IMPLEMENTED
from zentracer_dap.peers.editor import Editor
from zentracer_dap.protocol import errors
from zentracer_dap.protocol.channel import Channel, OnResponse
from zentracer_dap.protocol.errors import DapError
from zentracer_dap.protocol.handlers import Overrides, Reply
from zentracer_dap.protocol.messages import Json

if TYPE_CHECKING:
    from zentracer_dap.run import Run


_OVER_THE_LINK = frozenset(
    (
        "setDataBreakpoints",
        "setExceptionBreakpoints",
        "setFunctionBreakpoints",
        "zentracer/set_data_breakpoints",
        "zentracer/set_tensor_breakpoints",
    )
)
"""Requests that set what runtimes serve, not debugpy."""


@dataclass(frozen=True)
class Start:
    """The ``launch`` or ``attach`` request of a session, as the editor sent it."""

    command: str
    arguments: Json


class Session:
    """Relays between an editor and debugpy, except for what the overrides do."""

    def __init__(
        self, run: Run, overrides: Overrides, editor: Channel, debugpy: Channel, *, is_root: bool
    ) -> None:
        self.run = run
        self.editor = Editor(editor)
        self.debugpy = debugpy
        self.is_root = is_root
        """False for the session of a child process."""
        self.start: Start | None = None
        self.pid: int | None = None
        """Process that this session debugs, once known."""
        self.is_ending = False
        """Set once the editor has asked to disconnect, or is gone."""
        self.is_ready = False
        """Whether debugpy has said ``initialized``."""
        self.is_finishing = False
        """Whether everything is being closed."""
        self.leaves_running = False
        """Whether the program goes on when this session ends."""
        self.exit_code = 0
        """What the adapter's own failure makes of the exit code."""
        self.failure: DapError | None = None
        """Why debugpy is gone although the session goes on, to be said to ``launch``."""
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        """Resolves to an exit code once nothing is left to relay."""
        self.hits = Hits()
        self.explanations = Explanations()
        self.replay = Replay()
        self._overrides = overrides
        self._pending: dict[int, Json] = {}
        """Requests of the editor that have no answer yet, by sequence number."""
        self._tasks: set[asyncio.Task[None]] = set()
        editor.on_message = self._on_editor_message
        editor.on_closed = self._on_editor_closed
        self.listen_to(debugpy)

    def listen_to(self, debugpy: Channel) -> None:
        """Talk to ``debugpy`` from now on; whatever the former one says is ignored."""
        self.debugpy.on_message = lambda message: None
        self.debugpy.on_closed = lambda problem: None
        self.debugpy = debugpy
        debugpy.on_message = self._on_debugpy_message
        debugpy.on_closed = lambda problem: self.spawn(ending.debugpy_closed(self))

    # Answering and forwarding

    def forward(self, request: Json, on_response: OnResponse | None = None) -> None:
        """Pass a request on; its answer goes to the editor, or to ``on_response``."""
        sent = numbered(request)
        if on_response is not None:
            self.debugpy.send_request(sent, on_response)
        else:
            self.debugpy.send_request(
                sent,
                lambda response: self.relay(request, response),
                lambda rest: self._relay_rest(request, rest),
            )

    def relay(self, request: Json, response: Json) -> None:
        """Send debugpy's ``response`` to the editor as the answer to ``request``."""
        if self._pending.pop(request["seq"], None) is not None:
            self.editor.channel.send({**response, "request_seq": request["seq"]})

    def _relay_rest(self, request: Json, rest: bytes) -> None:
        if self._pending.pop(request["seq"], None) is not None:
            self.editor.channel.send_rest(request, rest)

    def respond(self, request: Json, body: Json | None = None) -> None:
        """Answer ``request`` with success, unless it has an answer."""
        if self._pending.pop(request["seq"], None) is not None:
            self.editor.channel.respond(request, body)

    def fail(self, request: Json, error: DapError) -> None:
        """Answer ``request`` with an error, unless it has an answer."""
        if self._pending.pop(request["seq"], None) is not None:
            self.editor.channel.fail(request, error)

    def fail_start(self, error: DapError) -> None:
        """Answer ``launch`` or ``attach`` with an error if it is not answered yet."""
        for request in list(self._pending.values()):
            if request["command"] in ("launch", "attach"):
                self.fail(request, error)

    def pending_request(self, seq: Any) -> Json | None:
        """Return the editor's request ``seq`` while it is not answered."""
        return self._pending.get(seq)

    @property
    def is_setting_breakpoints(self) -> bool:
        """Whether breakpoints that go over the link are being set right now."""
        return any(request["command"] in _OVER_THE_LINK for request in self._pending.values())

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run ``work`` beside the relaying; it ends with the session at the latest."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def end(self, code: int) -> None:
        """Close both sides; the session is over."""
        self.is_ending = True
        self.editor.channel.close()
        self.debugpy.close()
        if not self.ended.done():
            self.ended.set_result(code)

    # Editor -> debugpy

    def _on_editor_message(self, message: Json) -> None:
        if message["type"] == "request":
            self._pending[message["seq"]] = message
            self._guard(message, lambda: self._handle_request(message))
        elif message["type"] == "event":
            self.debugpy.send(message)

    def _handle_request(self, request: Json) -> None:
        command: str = request["command"]
        handler = self._overrides.requests.get(command)
        if handler is not None:
            self._finish(request, handler(self, request))
        elif command in IMPLEMENTED:
            self.forward(request)
        elif command.startswith("zentracer/"):
            raise errors.unserved_request(command)
        else:
            raise errors.unknown_request(command)

    def _finish(self, request: Json, reply: Reply) -> None:
        if isinstance(reply, dict):
            self.respond(request, reply)
        elif reply is not None:
            self.spawn(self._finish_later(request, reply))

    async def _finish_later(self, request: Json, reply: Coroutine[Any, Any, Json | None]) -> None:
        try:
            body = await reply
            if body is not None:
                self.respond(request, body)
        except DapError as error:
            self.fail(request, error)
        except Exception as problem:
            self.fail(request, _our_fault(request["command"], problem))

    def _guard(self, request: Json, action: Any) -> None:
        try:
            action()
        except DapError as error:
            self.fail(request, error)
        except Exception as problem:
            self.fail(request, _our_fault(request["command"], problem))

    def _on_editor_closed(self, problem: str | None) -> None:
        self.spawn(ending.editor_closed(self, problem))

    # debugpy -> editor

    def _on_debugpy_message(self, message: Json) -> None:
        if message["type"] == "event":
            self._on_event(message)
        elif message["type"] == "request":
            self._on_reverse_request(message)

    def _on_event(self, event: Json) -> None:
        handler = self._overrides.events.get(event["event"])
        if handler is not None:
            try:
                changed = handler(self, event)
            except Exception as problem:
                changed = event
                self.run.notices.tell(_our_fault(event["event"], problem).text)
            if changed is None:
                return
            event = changed
        self.editor.channel.send(event)

    def _on_reverse_request(self, request: Json) -> None:
        handler = self._overrides.reverse_requests.get(request["command"])
        if handler is None:
            self.forward_reverse(request)
            return
        body = handler(self, request)
        if isinstance(body, dict):
            self.debugpy.respond(request, body)

    def forward_reverse(self, request: Json) -> None:
        """Pass a request of debugpy on to the editor, and the editor's answer back."""
        debugpy = self.debugpy

        def answer(response: Json) -> None:
            debugpy.send({**response, "request_seq": request["seq"]})

        self.editor.channel.send_request(request, answer)

    async def cancel_tasks(self) -> None:
        """Stop what still runs beside the relaying."""
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)


def _our_fault(what: str, problem: Exception) -> DapError:
    """Leave the trace on stderr, for a report; the user gets the sentence."""
    traceback.print_exception(type(problem), problem, problem.__traceback__)
    return errors.internal(what, problem)
