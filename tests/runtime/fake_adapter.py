"""The adapter's end of the link, for tests of the runtime alone."""

from __future__ import annotations

import queue
import socket
import threading
from typing import Any

from zentracer.wire.codec import EVENT, REQUEST, Frame, FrameReader, decode, encode_frame
from zentracer.wire.messages import Hello

SECONDS = 60
"""Hang guard."""


class Connection:
    """One process that has connected."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._frames: queue.Queue[Frame | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def next(self) -> Frame:
        """The next frame."""
        frame = self._frames.get(timeout=SECONDS)
        assert frame is not None, "the process closed its link"
        return frame

    def hello(self) -> Hello:
        """The first frame."""
        frame = self.next()
        assert (frame.kind, frame.name) == (EVENT, "hello")
        return decode(Hello, frame.body)

    def request(self, name: str, body: Any, id: int = 1) -> Frame:
        """Send a request and return its answer."""
        self.send_request(name, body, id)
        answer = self.next()
        assert (answer.id, answer.name) == (id, name)
        return answer

    def send_request(self, name: str, body: Any, id: int = 1) -> None:
        """Send a request; its answer comes among the frames."""
        self.send(encode_frame(REQUEST, id, name, body))

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._sock.sendall(data)

    def close(self) -> None:
        """Be gone."""
        self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()

    def wait_closed(self) -> None:
        """Wait until the process has closed its end."""
        self.rest()

    def rest(self) -> list[Frame]:
        """All frames until the process closes its end."""
        return list(iter(lambda: self._frames.get(timeout=SECONDS), None))

    def _read(self) -> None:
        reader = FrameReader()
        try:
            while data := self._sock.recv(65536):
                for frame in reader.feed(data):
                    self._frames.put(frame)
        except OSError:
            pass  # a reset is an end as well
        self._frames.put(None)


class FakeAdapter:
    """Listens on loopback."""

    token = "0123456789abcdef"

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]

    def accept(self) -> Connection:
        """Wait for the next process."""
        self._server.settimeout(SECONDS)
        sock, _ = self._server.accept()
        sock.settimeout(None)
        return Connection(sock)

    def close(self) -> None:
        """Stop listening."""
        self._server.close()
