"""One connection to the adapter, as its client: framing, and a thread that reads."""

from __future__ import annotations

import json
import socket
import threading
from typing import IO, Any, Callable, Dict, Optional

Message = Dict[str, Any]

Receiver = Callable[["Connection", Optional[Message]], None]
"""Called on the reading thread with each message, and once with None at the end of the stream."""


class Connection:
    """A DAP stream. Writes from any thread; messages arrive at ``receive``."""

    def __init__(
        self,
        reader: IO[bytes],
        writer: IO[bytes],
        receive: Receiver,
        sock: socket.socket | None = None,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._socket = sock
        self._receive = receive
        self._lock = threading.Lock()
        self._seq = 0
        self.open = True
        """False once the other side is known to be gone."""
        threading.Thread(target=self._read, name="zentracer DAP reader", daemon=True).start()

    @classmethod
    def connect(cls, host: str, port: int, receive: Receiver) -> Connection:
        """Dial a listening adapter."""
        sock = socket.create_connection((host, port))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return cls(sock.makefile("rb"), sock.makefile("wb"), receive, sock)

    def request(self, command: str, arguments: Message | None = None) -> int:
        """Send a request and return its ``seq``."""
        return self._send({"type": "request", "command": command, "arguments": arguments or {}})

    def respond(self, request: Message, body: Message | None = None, error: str = "") -> None:
        """Answer a request of the adapter's; with ``error`` as a failure."""
        answer: Message = {
            "type": "response",
            "request_seq": request["seq"],
            "command": request["command"],
            "success": not error,
            "body": body or {},
        }
        if error:
            answer["message"] = error
        self._send(answer)

    def close(self) -> None:
        """End the stream; the adapter sees that its client is gone."""
        self.open = False
        if self._socket is not None:
            # A file made from a socket keeps it open while the reader waits: shut it down first.
            _quietly(lambda: self._socket and self._socket.shutdown(socket.SHUT_RDWR))
        _quietly(self._writer.close)

    def _send(self, message: Message) -> int:
        with self._lock:
            self._seq += 1
            message["seq"] = self._seq
            data = json.dumps(message).encode()
            try:
                self._writer.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
                self._writer.flush()
            except (OSError, ValueError):  # gone or closed: the reader reports the end
                self.open = False
            return self._seq

    def _read(self) -> None:
        try:
            while (message := read_message(self._reader)) is not None:
                self._receive(self, message)
        finally:
            self.open = False
            self._receive(self, None)


def read_message(stream: IO[bytes]) -> Message | None:
    """Read one message; None at the end of the stream or when it breaks off."""
    length = -1
    try:
        while (line := stream.readline()) not in (b"\r\n", b"\n"):
            if not line:
                return None
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length":
                length = int(value)
        data = stream.read(length)
        return json.loads(data) if len(data) == length else None
    except (OSError, ValueError):
        return None


def _quietly(action: Callable[[], object]) -> None:
    """Run a clean-up step whose failure means that it was not needed."""
    try:
        action()
    except (OSError, ValueError):
        return
