"""A real DAP client for tests and benchmarks: it drives an adapter as an editor would.

Works against ``python -m zentracer_dap`` and against stock ``python -m debugpy.adapter``, over
stdio or TCP, and follows child sessions however the adapter announces them. Typical use::

    with Client() as client:
        client.launch(program=PROGRAM, breakpoints={PROGRAM: [line_of(PROGRAM, "marker")]})
        stop = client.until_stopped()
        assert client.evaluate("x")["result"] == "1"
        client.resume()
        assert client.until_exit() == 0

Every event is handed out once: ``wait_event`` returns the oldest matching event that nobody has
taken yet. A wait that lasts longer than ``HANG_GUARD`` seconds fails with the last messages.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HANG_GUARD = float(os.environ.get("ZENTRACER_TEST_HANG_GUARD", "60"))
"""Seconds after which a wait is called a hang."""

ADAPTERS: dict[str, list[str]] = {
    "zentracer": [sys.executable, "-m", "zentracer_dap"],
    "debugpy": [sys.executable, "-m", "debugpy.adapter"],
}

Message = dict[str, Any]
Predicate = Callable[[Any], bool]


def line_of(path: str | os.PathLike[str], marker: str) -> int:
    """Return the 1-based line of ``path`` that carries the comment ``# @marker``."""
    pattern = re.compile(r"#.*@" + re.escape(marker) + r"(?![\w-])")
    for number, text in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        if pattern.search(text):
            return number
    raise LookupError(f"no '# @{marker}' in {path}")


class RequestFailed(Exception):
    """The adapter answered a request with ``success: false``."""

    def __init__(self, response: Message) -> None:
        super().__init__(f"{response.get('command')}: {response.get('message')}")
        self.response = response

    @property
    def message(self) -> str:
        """The sentence for the user."""
        error = (self.response.get("body") or {}).get("error") or {}
        return self.response.get("message") or error.get("format") or ""


class Hang(AssertionError):
    """Nothing that was waited for arrived within the hang guard."""


class Closed(AssertionError):
    """The adapter closed the connection while something was waited for."""


@dataclass
class Stop:
    """A ``stopped`` event with the stack of its thread."""

    body: Message
    frames: list[Message]

    @property
    def thread_id(self) -> int:
        """Thread that stopped."""
        return self.body["threadId"]

    @property
    def line(self) -> int:
        """Line of the top frame."""
        return self.frames[0]["line"]

    @property
    def path(self) -> str:
        """Source path of the top frame."""
        return self.frames[0]["source"]["path"]

    @property
    def frame_id(self) -> int:
        """Id of the top frame."""
        return self.frames[0]["id"]


class Connection:
    """DAP framing over one pair of byte streams, with a log of everything received."""

    def __init__(self, reader: Any, write: Callable[[bytes], Any], close: Callable[[], None]):
        self._reader = reader
        self._write = write
        self._close = close
        self._write_lock = threading.Lock()
        self._seq = 0
        self.changed = threading.Condition()
        self.log: list[Message] = []
        """All messages received, in order."""
        self.sent: list[Message] = []
        self.closed = False
        self.on_request: Callable[[Message], None] = lambda request: None
        self._taken: set[int] = set()
        self._responses: dict[int, Message] = {}
        self._thread = threading.Thread(target=self._read_all, daemon=True)

    def start(self) -> None:
        """Begin reading."""
        self._thread.start()

    def send(self, message: Message) -> int:
        """Send ``message`` with the next sequence number, which is returned."""
        with self._write_lock:
            self._seq += 1
            message = {"seq": self._seq, **message}
            self.sent.append(message)
            content = json.dumps(message).encode()
            self._write(b"Content-Length: %d\r\n\r\n%s" % (len(content), content))
            return self._seq

    def send_raw(self, data: bytes) -> None:
        """Send bytes as they are, for tests of bad input."""
        with self._write_lock:
            self._write(data)

    def response_to(self, seq: int, or_until: Predicate | None = None) -> Message | None:
        """Wait for the response to request ``seq``, or for the condition ``or_until``."""

        def look() -> Message | None:
            if seq in self._responses:
                return self._responses[seq]
            if or_until is not None and or_until(None):
                return {}
            return None

        return self._wait(look, f"response to {self.sent[seq - 1]}") or None

    def answered(self, seq: int) -> bool:
        """Whether request ``seq`` has its response."""
        with self.changed:
            return seq in self._responses

    def wait_message(self, matches: Predicate, what: str) -> Message:
        """Take the oldest message that ``matches`` and that nobody has taken yet."""

        def look() -> Message | None:
            for index, message in enumerate(self.log):
                if index not in self._taken and matches(message):
                    self._taken.add(index)
                    return message
            return None

        return self._wait(look, what)

    def wait_closed(self) -> None:
        """Wait until the adapter has closed its end."""
        with self.changed:
            if not self.changed.wait_for(lambda: self.closed, HANG_GUARD):
                raise Hang(f"the adapter did not close\n{self.tail()}")

    def tail(self, count: int = 25) -> str:
        """The last messages, for a failure report."""
        return "\n".join(json.dumps(message)[:600] for message in self.log[-count:])

    def close(self) -> None:
        """Close both directions."""
        with suppress(OSError, ValueError):  # the other end may be gone already
            self._close()

    def _wait(self, look: Callable[[], Message | None], what: str) -> Message:
        with self.changed:
            found = look()
            while found is None:
                if self.closed:
                    raise Closed(f"closed while waiting for {what}\n{self.tail()}")
                if not self.changed.wait(HANG_GUARD):
                    raise Hang(f"nothing came while waiting for {what}\n{self.tail()}")
                found = look()
            return found

    def _read_all(self) -> None:
        try:
            while (message := self._read()) is not None:
                with self.changed:
                    self.log.append(message)
                    if message["type"] == "response":
                        self._responses[message["request_seq"]] = message
                    self.changed.notify_all()
                if message["type"] == "request":
                    self.on_request(message)
        except (OSError, ValueError):
            pass  # a connection reset is the end of the stream
        finally:
            with self.changed:
                self.closed = True
                self.changed.notify_all()

    def _read(self) -> Message | None:
        length = None
        while (line := self._reader.readline()) not in (b"", b"\r\n"):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if length is None:
            return None
        content = self._reader.read(length)
        return json.loads(content) if len(content) == length else None


@dataclass
class Child:
    """A child process that the adapter announced."""

    configuration: Message
    """The ``attach`` arguments to use."""
    announced_by: str
    """``startDebugging`` or ``debugpyAttach``"""

    @property
    def address(self) -> tuple[str, int]:
        """Where to connect."""
        connect = self.configuration["connect"]
        return connect["host"], connect["port"]


@dataclass
class _Start:
    """What ``launch`` and ``attach`` have in common."""

    breakpoints: Mapping[Any, Iterable[int | Message]] = field(default_factory=dict)
    exceptions: Iterable[str] | None = None
    exception_options: Iterable[Message] = ()
    functions: Iterable[str | Message] | None = None


class Client:
    """One editor session with an adapter."""

    def __init__(
        self,
        adapter: str = "zentracer",
        *,
        command: list[str] | None = None,
        address: tuple[str, int] | None = None,
        start_debugging: bool = True,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        capabilities: Mapping[str, Any] | None = None,
    ) -> None:
        """Spawn an adapter, or connect to one that listens at ``address``.

        Args:
            adapter: a key of ``ADAPTERS``.
            command: the adapter's command line, instead of ``adapter``.
            address: host and port of a listening adapter, instead of a process.
            start_debugging: announce ``supportsStartDebuggingRequest``; otherwise children come
                as ``debugpyAttach`` events.
            env: environment changes for the adapter process.
            cwd: working directory of the adapter process.
            capabilities: more arguments of ``initialize``.
        """
        self.process: subprocess.Popen[bytes] | None = None
        self.terminals: list[subprocess.Popen[bytes]] = []
        """Processes started for ``runInTerminal``."""
        self.refuses: tuple[str, ...] = ()
        """Reverse requests that this editor answers with an error."""
        self.terminal_env: dict[str, str] = {}
        """What the environment of a terminal has besides our own."""
        self.capabilities: Message = {}
        """Body of the answer to ``initialize``."""
        self.start_request: int | None = None
        self._stderr: list[bytes] = []
        self._initialize = {
            "clientID": "test",
            "adapterID": "debugpy",
            "pathFormat": "path",
            "linesStartAt1": True,
            "columnsStartAt1": True,
            "supportsVariableType": True,
            "supportsRunInTerminalRequest": True,
            "supportsStartDebuggingRequest": start_debugging,
            **(capabilities or {}),
        }
        if address is None:
            self.connection = self._spawn(command or ADAPTERS[adapter], env, cwd)
        else:
            self.connection = _connect(address)
        self.connection.on_request = self._serve
        self.connection.start()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Requests

    def request(self, command: str, /, **arguments: Any) -> Any:
        """Send a request and return the body of its answer.

        Raises:
            RequestFailed: the adapter answered with an error.
        """
        return self.finish(self.send(command, **arguments))

    def send(self, command: str, /, **arguments: Any) -> int:
        """Send a request without waiting; ``finish`` takes the number that is returned."""
        return self.connection.send({"type": "request", "command": command, "arguments": arguments})

    def finish(self, seq: int) -> Any:
        """Wait for the answer to the request ``seq`` and return its body."""
        response = self.connection.response_to(seq)
        assert response is not None
        if not response["success"]:
            raise RequestFailed(response)
        return response.get("body", {})

    def wait_event(self, name: str, predicate: Predicate | None = None) -> Any:
        """Take the oldest event ``name`` whose body satisfies ``predicate``; returns the body."""

        def matches(message: Message) -> bool:
            if message["type"] != "event" or message["event"] != name:
                return False
            return predicate is None or bool(predicate(message.get("body") or {}))

        return self.connection.wait_message(matches, f"event {name}").get("body") or {}

    def events(self, name: str) -> list[Any]:
        """Bodies of all events ``name`` received so far, taken or not."""
        return [
            message.get("body") or {}
            for message in list(self.connection.log)
            if message["type"] == "event" and message["event"] == name
        ]

    def output(self, category: str | None = None) -> str:
        """Everything printed so far, of one category or of all but telemetry."""
        return "".join(
            body["output"]
            for body in self.events("output")
            if body.get("category", "console") == category
            or (category is None and body.get("category") != "telemetry")
        )

    # Starting

    def initialize(self) -> Message:
        """Send ``initialize`` and keep the capabilities."""
        self.capabilities = self.request("initialize", **self._initialize)
        return self.capabilities

    def launch(
        self,
        *,
        breakpoints: Mapping[Any, Iterable[int | Message]] | None = None,
        exceptions: Iterable[str] | None = None,
        exception_options: Iterable[Message] = (),
        functions: Iterable[str | Message] | None = None,
        **arguments: Any,
    ) -> dict[str, Any]:
        """Launch a program and configure the session, as an editor does.

        Args:
            breakpoints: path -> lines or DAP source breakpoints.
            exceptions: exception filters; None sends no ``setExceptionBreakpoints`` at all.
            exception_options: DAP ``filterOptions``, ``{"filterId": …, "condition": …}``.
            functions: function breakpoints, as names or as DAP objects.
            arguments: the launch configuration (``program=…``).

        Returns:
            The answers to the configuration requests: ``breakpoints`` by path, ``exceptions``
            and ``functions``.
        """
        arguments.setdefault("console", "internalConsole")
        start = _Start(breakpoints or {}, exceptions, exception_options, functions)
        return self._start("launch", arguments, start)

    def attach(
        self,
        *,
        breakpoints: Mapping[Any, Iterable[int | Message]] | None = None,
        exceptions: Iterable[str] | None = None,
        exception_options: Iterable[Message] = (),
        functions: Iterable[str | Message] | None = None,
        **arguments: Any,
    ) -> dict[str, Any]:
        """Attach and configure the session; the arguments are those of ``launch``."""
        start = _Start(breakpoints or {}, exceptions, exception_options, functions)
        return self._start("attach", arguments, start)

    def set_breakpoints(self, path: Any, lines: Iterable[int | Message]) -> list[Message]:
        """Replace the breakpoints of one file."""
        wanted = [line if isinstance(line, dict) else {"line": line} for line in lines]
        body = self.request("setBreakpoints", source={"path": str(path)}, breakpoints=wanted)
        return body["breakpoints"]

    def set_functions(self, *names: str | Message) -> list[Message]:
        """Set breakpoints by name; returns the adapter's answer."""
        wanted = [{"name": name} if isinstance(name, str) else name for name in names]
        return self.request("setFunctionBreakpoints", breakpoints=wanted)["breakpoints"]

    def set_data(self, *wanted: Message) -> list[Message]:
        """Set data breakpoints; returns the adapter's answer."""
        return self.request("setDataBreakpoints", breakpoints=list(wanted))["breakpoints"]

    def scopes(self, frame_id: int) -> dict[str, dict[str, Message]]:
        """Return the rows of each scope of a frame, by name."""
        scopes = self.request("scopes", frameId=frame_id)["scopes"]
        return {
            scope["name"]: {row["name"]: row for row in self.variables(scope["variablesReference"])}
            for scope in scopes
        }

    def set_exceptions(self, filters: Iterable[str], options: Iterable[Message] = ()) -> Any:
        """Replace the exception filters; returns the body of the answer."""
        arguments: Message = {"filters": list(filters)}
        if options := list(options):
            arguments["filterOptions"] = options
        return self.request("setExceptionBreakpoints", **arguments)

    # Control

    def until_stopped(self, predicate: Predicate | None = None) -> Stop:
        """Wait for a ``stopped`` event and fetch the stack of its thread."""
        body = self.wait_event("stopped", predicate)
        stack = self.request("stackTrace", threadId=body["threadId"])
        return Stop(body, stack["stackFrames"])

    def resume(self, thread_id: int = 1) -> Any:
        """Send ``continue``."""
        return self.request("continue", threadId=thread_id)

    def step(self, command: str, stop: Stop) -> Stop:
        """Send ``next``, ``stepIn`` or ``stepOut`` and wait for the next stop."""
        self.request(command, threadId=stop.thread_id)
        return self.until_stopped()

    def evaluate(self, expression: str, frame_id: int | None = None, context: str = "watch") -> Any:
        """Evaluate in a frame (globals of the main module without one); returns the body."""
        arguments: Message = {"expression": expression, "context": context}
        if frame_id is not None:
            arguments["frameId"] = frame_id
        return self.request("evaluate", **arguments)

    def variables(self, reference: int, **paging: Any) -> list[Message]:
        """Children of a variables reference."""
        return self.request("variables", variablesReference=reference, **paging)["variables"]

    def locals(self, frame_id: int) -> dict[str, Message]:
        """Rows of a frame's Locals scope, by name."""
        scopes = self.request("scopes", frameId=frame_id)["scopes"]
        return {row["name"]: row for row in self.variables(scopes[0]["variablesReference"])}

    def exception_info(self, thread_id: int) -> Message:
        """Body of ``exceptionInfo``."""
        return self.request("exceptionInfo", threadId=thread_id)

    def until_exit(self) -> int:
        """Wait for ``exited`` and ``terminated``; returns the exit code."""
        code = self.wait_event("exited")["exitCode"]
        self.wait_event("terminated")
        return code

    def until_exit_or_stop(self) -> int | None:
        """Wait for the next stop (returns None) or the end (returns the exit code)."""

        def matches(message: Message) -> bool:
            return message["type"] == "event" and message["event"] in ("stopped", "exited")

        message = self.connection.wait_message(matches, "event stopped or exited")
        return message["body"]["exitCode"] if message["event"] == "exited" else None

    def wait_child(self) -> Child:
        """Wait for the next child process that the adapter announces."""

        def matches(message: Message) -> bool:
            return message.get("command" if message["type"] == "request" else "event") in (
                "startDebugging",
                "debugpyAttach",
            )

        message = self.connection.wait_message(matches, "a child session")
        if message["type"] == "request":
            return Child(message["arguments"]["configuration"], "startDebugging")
        return Child(message["body"], "debugpyAttach")

    def connect_child(self, child: Child | None = None) -> Client:
        """Connect to a child's adapter session; ``attach_child`` does the rest."""
        child = child or self.wait_child()
        client = Client(
            address=child.address,
            start_debugging=child.announced_by == "startDebugging",
        )
        client.child = child
        return client

    def attach_child(self, child: Child | None = None, **options: Any) -> Client:
        """Wait for a child, connect to it and attach; ``options`` as for ``attach``."""
        client = self.connect_child(child)
        client.attach(**options, **client.child.configuration)
        return client

    child: Child

    # Ending

    def close(self) -> None:
        """End the session: disconnect, close the streams, and make sure the adapter is gone."""
        with suppress(OSError, ValueError, AssertionError, RequestFailed):
            if not self.connection.closed:
                self.request("disconnect", terminateDebuggee=True)
        self.connection.close()
        if self.process is not None:
            _end(self.process)
        for terminal in self.terminals:
            _end(terminal)

    def wait_adapter(self) -> int:
        """Wait until the adapter process has ended; returns its exit code."""
        assert self.process is not None
        return self.process.wait(HANG_GUARD)

    @property
    def stderr(self) -> str:
        """What the adapter wrote to its stderr so far."""
        return b"".join(self._stderr).decode(errors="replace")

    def _spawn(
        self,
        command: list[str],
        env: Mapping[str, str] | None,
        cwd: str | os.PathLike[str] | None,
    ) -> Connection:
        self.process = process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(env or {})},
            cwd=cwd,
        )
        assert process.stdin and process.stdout and process.stderr
        threading.Thread(target=self._drain, args=(process.stderr,), daemon=True).start()
        stdin = process.stdin

        def write(data: bytes) -> None:
            stdin.write(data)
            stdin.flush()

        return Connection(process.stdout, write, stdin.close)

    def _drain(self, stream: Any) -> None:
        for line in stream:
            self._stderr.append(line)

    def _serve(self, request: Message) -> None:
        """Answer a reverse request as an editor would."""
        body: Message = {}
        if request["command"] == "runInTerminal":
            body = {"processId": self._run_in_terminal(request["arguments"])}
        self.connection.send(
            {
                "type": "response",
                "request_seq": request["seq"],
                "command": request["command"],
                "success": request["command"] not in self.refuses,
                "body": body,
            }
        )

    def _run_in_terminal(self, arguments: Message) -> int:
        env = {**os.environ, **self.terminal_env, **(arguments.get("env") or {})}
        terminal = subprocess.Popen(
            arguments["args"],
            cwd=arguments.get("cwd") or None,
            env={name: value for name, value in env.items() if value is not None},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.terminals.append(terminal)
        return terminal.pid

    def _start(self, command: str, arguments: Message, start: _Start) -> dict[str, Any]:
        if not self.capabilities:
            self.initialize()
        arguments = {
            name: os.fspath(value) if isinstance(value, os.PathLike) else value
            for name, value in arguments.items()
            if name != "request"
        }
        self.start_request = self.send(command, **arguments)
        if not self._configurable(self.start_request, arguments):
            self.finish(self.start_request)
            return {}
        answers = self._configure(start)
        self.request("configurationDone")
        self.finish(self.start_request)
        return answers

    def _configurable(self, seq: int, arguments: Message) -> bool:
        """Wait for ``initialized``; False if the start was answered without it."""

        def matches(message: Message) -> bool:
            if message["type"] == "event":
                return message["event"] == "initialized"
            return message["type"] == "response" and message["request_seq"] == seq

        message = self.connection.wait_message(matches, "event initialized")
        return message["type"] == "event"

    def _configure(self, start: _Start) -> dict[str, Any]:
        answers: dict[str, Any] = {
            "breakpoints": {
                path: self.set_breakpoints(path, lines) for path, lines in start.breakpoints.items()
            }
        }
        if start.functions is not None:
            wanted = [f if isinstance(f, dict) else {"name": f} for f in start.functions]
            answers["functions"] = self.request("setFunctionBreakpoints", breakpoints=wanted)
        if start.exceptions is not None or start.exception_options:
            answers["exceptions"] = self.set_exceptions(
                start.exceptions or (), start.exception_options
            )
        return answers


def _connect(address: tuple[str, int]) -> Connection:
    sock = socket.create_connection(address, timeout=HANG_GUARD)
    sock.settimeout(None)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close() -> None:
        sock.shutdown(socket.SHUT_RDWR)
        sock.close()

    return Connection(sock.makefile("rb"), sock.sendall, close)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Give ``process`` a moment to end by itself, then kill it."""
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
