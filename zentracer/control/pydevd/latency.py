"""No delay in debugpy's answers.

RUNS IN the training process. Nagle's algorithm makes 44 ms of a request that takes 1.5 ms; and a
stopped thread serves one command and then sleeps for 200 ms, unless another one wakes it later.
"""

from __future__ import annotations

import socket
import sys
from contextlib import suppress
from typing import Any, Callable


def install(pydevd: Any, _notify: Callable[..., None]) -> None:
    """Set TCP_NODELAY on pydevd's connections, the present one included; serve all that waits."""
    _serve_all(sys.modules["_pydevd_bundle.pydevd_comm"].InternalThreadCommand)
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


def _serve_all(command_class: Any) -> None:
    """Wake a stopped thread again while there are commands in its queue.

    Editors send several requests at once, and the event that announces them counts only once.
    """
    original = command_class.do_it

    def do_it(self: Any, debugger: Any) -> None:
        try:
            original(self, debugger)
        finally:
            queue, event = debugger.get_internal_queue_and_event(self.thread_id)
            if not queue.empty():
                event.set()

    command_class.do_it = do_it
