"""One DAP connection: numbering, pairing of answers with requests, and the byte streams.

Everything here runs on the event loop's thread, and handlers are called synchronously, in the
order of the messages: a proxied message costs no thread switch.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import stat
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any, Protocol, cast

from zentracer_dap.protocol import messages
from zentracer_dap.protocol.errors import DapError
from zentracer_dap.protocol.framing import FrameParser, FramingError, encode_frame
from zentracer_dap.protocol.messages import Json, NotJson

OnResponse = Callable[[Json], None]
OnRest = Callable[[bytes], None]
"""Takes what follows the numbers of a response, unparsed: ``"success": true, …}``."""

_RESPONSE = re.compile(rb'\{"seq": ?\d+, ?"type": ?"response", ?"request_seq": ?(\d+), ?(?=")')
"""How debugpy begins a response; one that begins otherwise is parsed like any message."""


@dataclass(frozen=True)
class _Pending:
    """A request whose response is still to come."""

    command: str
    on_response: OnResponse
    on_rest: OnRest | None = None


class Writer(Protocol):
    """What a channel needs of a byte stream to write to."""

    def write(self, data: bytes, /) -> None:
        """Send or queue ``data``."""
        ...

    def close(self) -> None:
        """Send what is queued, then close."""
        ...


class Channel(asyncio.Protocol):
    """A DAP connection. Set ``on_message`` and ``on_closed`` before data arrives."""

    def __init__(self, name: str, trace: Callable[[str], None] | None = None) -> None:
        self.name = name
        self.on_message: Callable[[Json], None] = lambda message: None
        """Called with every request and event, and with responses nobody waits for."""
        self.on_closed: Callable[[str | None], None] = lambda problem: None
        """Called once when the other end is gone; the argument says what was wrong, if it was."""
        self.is_open = True
        """Whether the other end is there. Until ``close`` it may still be written to."""
        self.trace = trace
        """Where the transcript goes, if one is kept."""
        self._is_closed = False
        self._held: list[bytes] | None = None
        self._parser = FrameParser()
        self._seq = 0
        self._pending: dict[int, _Pending] = {}
        self._writer: Writer | None = None
        self._early: list[bytes] = []
        """Frames sent before there was anything to write to."""
        self._reader: asyncio.ReadTransport | None = None

    # Sending

    def send(self, message: Json) -> int:
        """Send ``message`` under the next sequence number, which is returned."""
        self._seq += 1
        self._write(messages.encode({**message, "seq": self._seq}))
        return self._seq

    def send_rest(self, request: Json, rest: bytes) -> None:
        """Answer ``request`` with a response that another channel received, unparsed."""
        self._seq += 1
        head = b'{"seq":%d,"type":"response","request_seq":%d,' % (self._seq, request["seq"])
        self._write(head + rest)

    def send_request(
        self, message: Json, on_response: OnResponse, on_rest: OnRest | None = None
    ) -> None:
        """Send a request; its response is handed over, come what may.

        Args:
            message: the request.
            on_response: takes the response.
            on_rest: takes the response instead if it need not be parsed; a list of thousands of
                variables would cost more than everything else we do.
        """
        if not self.is_open:
            on_response(_lost(message["command"], self.name))
            return
        self._pending[self.send(message)] = _Pending(message["command"], on_response, on_rest)

    def request(self, command: str, arguments: Json | None = None) -> asyncio.Future[Json]:
        """Send a request of our own; the future holds the whole response message."""
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()

        def resolve(response: Json) -> None:
            if not answer.done():
                answer.set_result(response)

        message: Json = {"type": "request", "command": command, "arguments": arguments or {}}
        self.send_request(message, resolve)
        return answer

    def event(self, name: str, body: Json | None = None) -> None:
        """Send an event."""
        self.send({"type": "event", "event": name, "body": body or {}})

    def respond(self, request: Json, body: Json | None = None) -> None:
        """Answer ``request`` with success."""
        self.send({**_answer(request), "success": True, "body": body or {}})

    def fail(self, request: Json, error: DapError) -> None:
        """Answer ``request`` with an error."""
        answer = {**_answer(request), "success": False, "message": error.text}
        self.send({**answer, "body": error.body()})

    def close(self) -> None:
        """Close both directions, after what was sent so far."""
        self._is_closed = True
        if self._writer is not None:
            self._writer.close()
        if self._reader is not None:
            self._reader.close()
        self._lose(None)

    # Receiving (asyncio.Protocol)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Adopt a socket, or the reading end of a pipe."""
        self._reader = cast(asyncio.ReadTransport, transport)
        sock = transport.get_extra_info("socket")
        if sock is not None:
            set_no_delay(sock)
            self.adopt_writer(cast(asyncio.WriteTransport, transport))

    def data_received(self, data: bytes) -> None:
        """Handle the messages that are complete with ``data``."""
        if self._held is not None:
            self._held.append(data)
            return
        try:
            contents = self._parser.feed(data)
        except FramingError as error:
            self._lose(str(error))
            return
        for content in contents:
            self._receive(content)

    def eof_received(self) -> bool:
        """Let the transport close itself at the end of the stream."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Report the end of the connection."""
        self._lose("the stream ended inside a message" if self._parser.is_inside_message else None)

    def adopt_writer(self, writer: Writer) -> None:
        """Write to ``writer``; of pipes, the two directions are separate streams.

        debugpy may say something before the editor's stream is open: that comes first.
        """
        self._writer = writer
        early, self._early = self._early, []
        for frame in early:
            writer.write(frame)

    def hold(self) -> None:
        """Keep what arrives until ``release``: whoever is to handle it is not ready."""
        self._held = []

    def release(self) -> None:
        """Handle what has arrived since ``hold``, and go on."""
        held, self._held = self._held or [], None
        for data in held:
            self.data_received(data)

    def _write(self, content: bytes) -> None:
        if self.trace:
            self.trace(f"{self.name} <-- {content.decode()}")
        if self._is_closed:
            return
        frame = encode_frame(content)
        if self._writer is None:
            self._early.append(frame)
        else:
            self._writer.write(frame)

    def _receive(self, content: bytes) -> None:
        if not self.is_open:
            return
        if self.trace:
            self.trace(f"{self.name} --> {content.decode(errors='replace')}")
        if not self._pass_on(content):
            self._dispatch(content)

    def _pass_on(self, content: bytes) -> bool:
        """Hand over a response that need not be parsed; False if it must be."""
        match = _RESPONSE.match(content)
        pending = self._pending.get(int(match[1])) if match else None
        if match is None or pending is None or pending.on_rest is None:
            return False
        del self._pending[int(match[1])]
        pending.on_rest(content[match.end() :])
        return True

    def _dispatch(self, content: bytes) -> None:
        try:
            message = messages.parse(content)
        except NotJson as error:
            self._lose(str(error))
            return
        if message["type"] == "response":
            pending = self._pending.pop(message["request_seq"], None)
            (pending.on_response if pending else self.on_message)(message)
        else:
            self.on_message(message)

    def _lose(self, problem: str | None) -> None:
        if not self.is_open:
            return
        self.is_open = False
        pending, self._pending = self._pending, {}
        for request in pending.values():
            request.on_response(_lost(request.command, self.name))
        self.on_closed(problem)


def _answer(request: Json) -> Json:
    return {"type": "response", "request_seq": request["seq"], "command": request["command"]}


def _lost(command: str, name: str) -> Json:
    """The response to a request whose peer is gone."""
    message = f"{name} ended before it answered '{command}'."
    return {
        "type": "response",
        "request_seq": 0,
        "command": command,
        "success": False,
        "message": message,
        "body": {},
    }


def set_no_delay(sock: socket.socket) -> None:
    """Switch Nagle's algorithm off: with delayed ACKs it costs 40 ms a request."""
    if sock.family in (socket.AF_INET, socket.AF_INET6):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


async def over_pipes(channel: Channel, reader: IO[bytes], writer: IO[bytes]) -> None:
    """Run ``channel`` over two byte streams, of whatever kind they are."""
    loop = asyncio.get_running_loop()
    try:
        transport, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, writer)
        channel.adopt_writer(transport)
    except (ValueError, NotImplementedError, OSError):  # a file, or Windows
        channel.adopt_writer(_BlockingWriter(writer))
    if _is_device(reader):
        _read_in_thread(channel, reader, loop)
        return
    try:
        await loop.connect_read_pipe(lambda: channel, reader)
    except (ValueError, NotImplementedError, OSError):
        _read_in_thread(channel, reader, loop)


def _is_device(stream: IO[bytes]) -> bool:
    """Whether this is ``/dev/null`` or its like: the loop takes it, and fails to watch it later."""
    return stat.S_ISCHR(os.fstat(stream.fileno()).st_mode) and not stream.isatty()


class _BlockingWriter:
    """Writes to a stream that the event loop cannot watch."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def write(self, data: bytes, /) -> None:
        """Write all of ``data``."""
        view = memoryview(data)
        while view:
            view = view[os.write(self._stream.fileno(), view) :]

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()


def _read_in_thread(channel: Channel, reader: IO[bytes], loop: asyncio.AbstractEventLoop) -> None:
    def deliver(handler: Callable[..., Any], *arguments: Any) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(handler, *arguments)

    def read_all() -> None:
        while data := os.read(reader.fileno(), 1 << 16):
            deliver(channel.data_received, data)
        deliver(channel.connection_lost, None)

    threading.Thread(target=read_all, name=f"{channel.name} reader", daemon=True).start()
