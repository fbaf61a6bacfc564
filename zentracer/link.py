"""The socket to the adapter.

RUNS IN the training process. Two daemon threads of our own serve it, so that the program never
waits for the adapter: what is sent goes into a bounded queue and is counted as dropped when the
queue is full. Our threads are invisible to the debugger and keep serving while the program is
stopped.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Callable, Deque, Dict, Optional, Tuple

from zentracer.wire import codec
from zentracer.wire.codec import ANSWER, ERROR, EVENT, REQUEST, FrameReader, WireError

QUEUE_LENGTH = 4096
"""Messages that may wait for the adapter."""
CONNECT_DELAYS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Seconds before each attempt to connect; afterwards the program runs without a link."""
FLUSH_SECONDS = 0.5
"""How long the end of the process may wait for the last messages to leave."""
LATEST_SECONDS = 0.1
"""Least time between two events of which only the newest counts."""


@dataclass(frozen=True)
class Handlers:
    """What the link calls, always on its own reader thread."""

    hello: Callable[[], Any]
    """Makes the first message."""
    request: Callable[[str, Any], Any]
    """Takes a request's name and plain arguments; returns the answer's body."""
    lost: Callable[[], None]
    """The adapter is gone."""


class Link:
    """One connection to the adapter; it is opened once and not reused."""

    def __init__(self, address: Tuple[str, int], handlers: Handlers) -> None:
        self.dropped = 0
        """Messages that found the queue full."""
        self.ready = threading.Event()
        """Set once the adapter has told what to watch for, or when there is no link to wait for."""
        self._address = address
        self._handlers = handlers
        self._queue: Deque[Tuple[int, int, str, Any]] = deque()
        self._latest: Dict[str, Any] = {}
        """Events of which only the newest counts, not sent yet: name -> body."""
        self._late = False
        """Whether the writer knows that there are some."""
        self._latest_due = 0.0
        self._wake = threading.Event()
        self._writing = False
        self._closed = False
        self._socket: Optional[socket.socket] = None

    def open(self) -> None:
        """Connect in the background."""
        _start_thread(self._run, "zentracer.link.reader")

    def send_event(self, name: str, body: Any) -> bool:
        """Queue an event; returns False when it was dropped."""
        return self._send(EVENT, 0, name, body)

    def send_latest(self, name: str, body: Any) -> None:
        """Queue an event of which only the newest counts.

        The writer sends it within ``LATEST_SECONDS``, also while the program stands: what the user
        sees is never stale, and a program that calls this a thousand times a second is not slowed.
        """
        self._latest[name] = body
        if not self._late:
            self._late = True
            self._wake.set()

    def flush(self, timeout: float = FLUSH_SECONDS) -> None:
        """Wait until everything queued has left, at most ``timeout`` seconds."""
        deadline = time.monotonic() + timeout
        self._latest_due = 0.0
        self._wake.set()
        while (
            self._socket is not None
            and not self._closed
            and (self._queue or self._latest or self._writing)
            and time.monotonic() < deadline
        ):
            time.sleep(0.005)

    def close(self) -> None:
        """Close the connection; ``lost`` is not called."""
        self._closed = True
        self._wake.set()
        self.ready.set()
        if self._socket is not None:
            with suppress(OSError):  # the peer may have closed it first
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()

    def abandon(self) -> None:
        """Give up the copy that a fork made: closing must not end the parent's connection."""
        self._closed = True
        if self._socket is not None:
            self._socket.close()

    def _send(self, kind: int, id: int, name: str, body: Any) -> bool:
        if self._closed or len(self._queue) >= QUEUE_LENGTH:
            self.dropped += 1
            return False
        self._queue.append((kind, id, name, body))
        self._wake.set()
        return True

    def _run(self) -> None:
        sock = self._connect()
        if sock is None:
            self.ready.set()
            return
        self._socket = sock
        try:
            # Both errors mean what the end of the stream means: the adapter is gone, or speaks
            # another protocol.
            with contextlib.suppress(OSError, WireError):
                sock.sendall(codec.encode_frame(EVENT, 0, "hello", self._handlers.hello()))
                _start_thread(self._write, "zentracer.link.writer")
                self._read(sock)
        finally:
            self._end(sock)

    def _end(self, sock: socket.socket) -> None:
        was_closed, self._closed = self._closed, True
        self._wake.set()
        sock.close()
        if not was_closed:
            self._handlers.lost()
        self.ready.set()

    def _connect(self) -> Optional[socket.socket]:
        for delay in CONNECT_DELAYS:
            time.sleep(delay)
            if self._closed:
                return None
            try:
                sock = socket.create_connection(self._address, timeout=5)
            except OSError:
                self.ready.set()  # nobody listens (yet): the program need not wait
                continue
            sock.settimeout(None)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return sock
        return None

    def _read(self, sock: socket.socket) -> None:
        reader = FrameReader()
        while data := sock.recv(65536):
            for frame in reader.feed(data):
                if frame.kind == REQUEST:
                    self._answer(frame)

    def _answer(self, frame: codec.Frame) -> None:
        try:
            body = self._handlers.request(frame.name, frame.body)
        except Exception as error:  # a bug of ours must not end the link
            message = str(error) if isinstance(error, WireError) else _our_fault(error)
            self._send(ERROR, frame.id, frame.name, {"message": message})
        else:
            self._send(ANSWER, frame.id, frame.name, body)
        self.ready.set()

    def _write(self) -> None:
        sock = self._socket
        assert sock is not None
        while not self._closed:
            due = self._latest_due - time.monotonic() if self._latest else None
            self._wake.wait(due)
            self._wake.clear()
            try:
                self._write_queued(sock)
            except OSError:
                return  # the reader sees the end of the stream and reports it

    def _write_queued(self, sock: socket.socket) -> None:
        self._writing = True
        self._queue_latest()
        while self._queue:
            kind, id, name, body = self._queue.popleft()
            try:
                frame = codec.encode_frame(kind, id, name, body)
            except WireError as error:
                frame = codec.encode_frame(EVENT, 0, "notice", {"message": str(error)})
            sock.sendall(frame)
        self._writing = False

    def _queue_latest(self) -> None:
        now = time.monotonic()
        if not self._latest or now < self._latest_due:
            return
        self._late = False  # first: what comes from here on wakes the writer again
        while self._latest:
            self._queue.append((EVENT, 0, *self._latest.popitem()))
        self._latest_due = now + LATEST_SECONDS


def _our_fault(error: Exception) -> str:
    return f"ZenTracer's runtime failed, please report this: {type(error).__name__}: {error}"


def _start_thread(target: Callable[[], None], name: str) -> None:
    thread = threading.Thread(target=target, name=name, daemon=True)
    # pydevd neither lists, traces nor suspends threads with these marks.
    thread.pydev_do_not_trace = True  # type: ignore[attr-defined]
    thread.is_pydev_daemon_thread = True  # type: ignore[attr-defined]
    thread.start()
