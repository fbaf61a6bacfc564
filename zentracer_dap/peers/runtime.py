"""The arrow to the ZenTracer runtimes in the debugged processes: the link.

Every debugged process connects back over loopback TCP and proves with the session's token that
it belongs to us.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import socket
from collections.abc import Callable
from typing import Any, TypeVar, cast

from zentracer.wire import EVENTS, PROTOCOL_VERSION, REQUESTS, codec
from zentracer.wire.codec import Frame, FrameReader, WireError
from zentracer.wire.messages import Hello
from zentracer_dap.protocol.channel import set_no_delay

T = TypeVar("T")


class RuntimeFailed(Exception):
    """A runtime answered with an error, or went away before it answered."""


class Runtime(asyncio.Protocol):
    """One debugged process. ``hello`` is set once it has proved that it is ours."""

    def __init__(self, owner: RuntimeListener) -> None:
        self.hello: Hello | None = None
        self._owner = owner
        self._frames = FrameReader()
        self._ids = itertools.count(1)
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._transport: asyncio.Transport | None = None

    @property
    def pid(self) -> int:
        """Process id, as the process itself sees it."""
        assert self.hello is not None
        return self.hello.pid

    async def request(self, name: str, arguments: Any, seconds: float) -> Any:
        """Send a request; returns the decoded answer.

        Raises:
            RuntimeFailed: it answered with an error, is gone, or did not answer in time.
        """
        number = next(self._ids)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._pending[number] = answer
        self._send(codec.encode_frame(codec.REQUEST, number, name, arguments))
        try:
            body = await asyncio.wait_for(answer, seconds)
            return codec.decode(REQUESTS[name][1], body, name)
        except asyncio.TimeoutError:
            raise RuntimeFailed(f"no answer within {seconds:g} s") from None
        except WireError as error:
            raise RuntimeFailed(str(error)) from None
        finally:
            self._pending.pop(number, None)

    def close(self) -> None:
        """Close the connection; the process runs on."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where to write to."""
        self._transport = cast(asyncio.Transport, transport)
        set_no_delay(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        """Handle the frames that are complete with ``data``."""
        try:
            for frame in self._frames.feed(data):
                self._handle(frame)
        except WireError as error:
            # A stranger on the port is nobody's business; a runtime of ours is worth a word.
            if self.hello is not None:
                self._owner.on_problem(f"The link to process {self.pid} broke: {error}")
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail what is pending and leave the session."""
        for answer in self._pending.values():
            if not answer.done():
                answer.set_exception(RuntimeFailed("the process ended"))
        self._owner.forget(self)

    def _send(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def _handle(self, frame: Frame) -> None:
        if self.hello is None:
            self._introduce(frame)
        elif frame.kind in (codec.ANSWER, codec.ERROR):
            self._answer(frame)
        elif frame.kind == codec.EVENT and frame.name in EVENTS:
            self._owner.on_event(self, codec.decode(EVENTS[frame.name], frame.body, frame.name))

    def _answer(self, frame: Frame) -> None:
        answer = self._pending.get(frame.id)
        if answer is None or answer.done():
            return
        if frame.kind == codec.ANSWER:
            answer.set_result(frame.body)
        else:
            body: Any = frame.body
            text = cast(Any, body).get("message") if isinstance(body, dict) else body
            answer.set_exception(RuntimeFailed(str(text)))

    def _introduce(self, frame: Frame) -> None:
        if (frame.kind, frame.name) != (codec.EVENT, "hello"):
            raise WireError("The first message is not 'hello'.")
        hello = codec.decode(Hello, frame.body, "hello")
        import hmac  # costs 10 ms to load, so not before the first process connects

        if not hmac.compare_digest(hello.token.encode(), self._owner.token.encode()):
            raise WireError("The token is wrong.")
        if hello.protocol_version != PROTOCOL_VERSION:
            self._owner.on_problem(_mismatch(hello))
            raise WireError("The protocol versions differ.")
        self.hello = hello
        self._owner.welcome(self)


class RuntimeListener:
    """Accepts the runtimes of one debugged program."""

    def __init__(self) -> None:
        self.token = ""
        self.renew_token()
        self.runtimes: list[Runtime] = []
        """Connected runtimes, in the order in which they came."""
        self.arrived = asyncio.Event()
        """Set while at least one runtime is connected."""
        self.on_hello: Callable[[Runtime], None] = lambda runtime: None
        self.on_gone: Callable[[Runtime], None] = lambda runtime: None
        """Called when a runtime that was admitted is gone."""
        self.on_event: Callable[[Runtime, Any], None] = lambda runtime, body: None
        self.on_problem: Callable[[str], None] = lambda text: None
        self._server: asyncio.Server | None = None
        self._socket = socket.create_server(("127.0.0.1", 0))

    @property
    def address(self) -> str:
        """``HOST:PORT`` for the runtimes; loopback only."""
        host, port = self._socket.getsockname()[:2]
        return f"{host}:{port}"

    def renew_token(self) -> None:
        """Admit from now on only processes that are told of the new token."""
        self.token = os.urandom(16).hex()

    async def open(self) -> None:
        """Begin to accept."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Runtime(self), sock=self._socket)

    def close(self) -> None:
        """Stop accepting and close all links."""
        if self._server is not None:
            self._server.close()
        with contextlib.suppress(OSError):  # the server has closed it already
            self._socket.close()
        for runtime in list(self.runtimes):
            runtime.close()

    def welcome(self, runtime: Runtime) -> None:
        """Admit a runtime that has proved that it is ours."""
        self.runtimes.append(runtime)
        self.arrived.set()
        self.on_hello(runtime)

    def forget(self, runtime: Runtime) -> None:
        """Drop a runtime whose connection is gone."""
        if runtime not in self.runtimes:
            return
        self.runtimes.remove(runtime)
        if not self.runtimes:
            self.arrived.clear()
        self.on_gone(runtime)


def _mismatch(hello: Hello) -> str:
    older = "training process" if hello.protocol_version < PROTOCOL_VERSION else "adapter"
    return (
        f"ZenTracer {hello.version} in process {hello.pid} speaks protocol "
        f"{hello.protocol_version}, this adapter speaks {PROTOCOL_VERSION}: upgrade zentracer in "
        f"the environment of the {older}. Tensor exceptions are off in that process."
    )
