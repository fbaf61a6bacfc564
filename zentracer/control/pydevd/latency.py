"""No delay on debugpy's connection: 1.5 ms a request where Nagle's algorithm makes it 44 ms.

RUNS IN the training process.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import Any, Callable


def install(pydevd: Any, _notify: Callable[..., None]) -> None:
    """Set TCP_NODELAY on every connection that pydevd makes, and on the present one."""
    debugger_class = pydevd.PyDB
    original = debugger_class.initialize_network

    def initialize_network(self: Any, sock: Any, *args: Any, **kwargs: Any) -> Any:
        _set_no_delay(sock)
        return original(self, sock, *args, **kwargs)

    debugger_class.initialize_network = initialize_network
    debugger = pydevd.get_global_debugger()
    writer = getattr(debugger, "writer", None)
    if writer is not None:
        _set_no_delay(getattr(writer, "sock", None))


def _set_no_delay(sock: Any) -> None:
    if isinstance(sock, socket.socket):
        with suppress(OSError):  # not a TCP socket, or closed meanwhile
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
