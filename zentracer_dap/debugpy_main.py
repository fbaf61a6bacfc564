"""Starts the debugpy adapter, with some of its behaviours changed.

RUNS IN the debugpy adapter process, started by file path: ``python debugpy_main.py DIR
ADAPTER-ARGUMENTS…`` where DIR holds the debugpy package. Uses nothing of ``zentracer_dap``.

- Sockets are switched to TCP_NODELAY; otherwise each request costs 40 ms.
- Stock debugpy hears nothing else, not even ``disconnect``, until the program has answered what
  was asked of it; except for ``evaluate``. Whatever the program computes is now treated like it.
- Stock debugpy kills a launched program on ``disconnect`` with ``terminateDebuggee: false`` and
  when its client vanishes. DAP says the program goes on, and training must survive the death of
  a debugger: the program is detached instead, and this process stays until it has ended, because
  its output runs through here. The proxy asks for termination explicitly where that is due.
"""

from __future__ import annotations

import builtins
import importlib
import runpy
import socket
import sys
from typing import Any, cast

TOO_OLD = 78
"""Exit code for a debugpy that is too old; the version is on stderr."""

MINIMUM = (1, 8, 22)

COMPUTED = ("variables", "setVariable", "setExpression", "completions", "exceptionInfo")
"""Requests that the stopped thread answers with code of the user's, besides ``evaluate``."""


def main() -> None:
    """Check debugpy's version, change what has to be, and run its adapter."""
    directory = sys.argv.pop(1)
    sys.path[0] = directory
    debugpy = _module("debugpy")
    del sys.path[0]
    if directory not in sys.path:
        sys.path.append(directory)
    if is_too_old(debugpy.__version__):
        sys.stderr.write(debugpy.__version__)
        sys.exit(TOO_OLD)
    if sys.version_info < (3, 10):
        _make_static_methods_callable()
    _switch_nagle_off()
    _serve_while_the_program_computes()
    _detach_when_client_leaves()
    runpy.run_module("debugpy.adapter", run_name="__main__", alter_sys=True)


def is_too_old(version: str) -> bool:
    """Whether a debugpy of this version lacks what we need."""
    parts = version.split("+")[0].split(".")[:3]
    numbers = tuple(int(part) for part in parts if part.isdigit())
    # A build from a checkout calls itself "0+unknown"; whoever uses one knows what it is.
    return numbers != (0,) and numbers < MINIMUM


def _make_static_methods_callable() -> None:
    """Let debugpy's adapter load on Python 3.9.

    It decorates with a static method in the body of its class, which Python allows from 3.10 on.
    It is all that is in the way: the debugger itself still runs on 3.9.
    """

    class CallableStaticMethod(staticmethod):  # pyright: ignore[reportMissingTypeArgument]
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return cast(Any, self.__func__)(*args, **kwargs)

    original: Any = staticmethod
    builtins.staticmethod = CallableStaticMethod
    try:
        _module("debugpy.adapter.clients")
    finally:
        builtins.staticmethod = original


def _switch_nagle_off() -> None:
    stream = _module("debugpy.common.messaging").JsonIOStream
    original = stream.from_socket.__func__

    def from_socket(cls: Any, sock: Any, name: Any = None) -> Any:
        if sock.family in (socket.AF_INET, socket.AF_INET6):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return original(cls, sock, name)

    stream.from_socket = classmethod(from_socket)


def _serve_while_the_program_computes() -> None:
    client = _module("debugpy.adapter.clients").Client
    for command in COMPUTED:
        if hasattr(client, f"{command}_request"):
            raise TypeError(f"debugpy handles {command} by itself")
        setattr(client, f"{command}_request", client.evaluate_request)


def _detach_when_client_leaves() -> None:
    clients = _module("debugpy.adapter.clients")
    servers = _module("debugpy.adapter.servers")
    sessions = _module("debugpy.adapter.sessions")
    finalize = sessions.Session.finalize
    client_disconnect = clients.Client.disconnect
    stop_serving = servers.stop_serving
    accept = servers.Connection.__init__
    detached: list[Any] = []

    def finalize_or_detach(self: Any, why: str, terminate_debuggee: bool | None = None) -> None:
        if terminate_debuggee is False and self.launcher and not self.is_finalizing:
            detached.append(self)
            _detach(self)
        else:
            finalize(self, why, terminate_debuggee)

    def disconnect(self: Any) -> None:
        session = self.session
        with session:
            self.is_connected = False
            if session.launcher and session.launcher.is_connected and not session.is_finalizing:
                session.finalize(f"{self} vanished", False)
        client_disconnect(self)

    def connected(self: Any, sock: Any) -> None:
        accept(self, sock)
        if detached:
            _let_go(self)

    def stop_serving_unless_detached() -> None:
        # Child processes of a detached program still report here, to be told to go on.
        if not detached:
            stop_serving()

    sessions.Session.finalize = finalize_or_detach
    clients.Client.disconnect = disconnect
    servers.stop_serving = stop_serving_unless_detached
    servers.Connection.__init__ = connected


def _detach(session: Any) -> None:
    """Let the program of ``session`` run on without a debugger, under its launcher."""
    session.is_finalizing = True
    server = session.server
    if server and server.is_connected:
        _ask(server.channel, "disconnect", {"terminateDebuggee": False})
        server.detach_from_session()
    own = server.connection if server else None
    for connection in _module("debugpy.adapter.servers").connections():
        if connection is not own:
            _let_go(connection)
    if session.client and session.client.is_connected:
        session.client.channel.send_event("terminated")


def _let_go(connection: Any) -> None:
    """Let a child process run, which debugpy holds until somebody has attached to it."""
    if connection.server is not None or connection.disconnected:
        return
    arguments = {
        "initialize": {"adapterID": "debugpy"},
        "attach": {"subProcessId": connection.pid},
        "configurationDone": {},
        "disconnect": {"terminateDebuggee": False},
    }
    for command, values in arguments.items():
        _ask(connection.channel, command, values)


def _ask(channel: Any, command: str, arguments: dict[str, Any]) -> None:
    try:
        channel.request(command, arguments)
    except Exception as problem:  # the process may end, or have been let go, at this very moment
        _module("debugpy.common.log").info("{0}: {1}", command, problem)


def _module(name: str) -> Any:
    """Import a module of debugpy, whose types are not published."""
    return importlib.import_module(name)


if __name__ == "__main__":
    main()
