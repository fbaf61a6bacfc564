"""The life of one debugged process, as a client of the adapter sees it."""

from __future__ import annotations

from typing import Any, Callable, Protocol, cast

from zentracer_dap.headless.breaks import Breaks
from zentracer_dap.headless.dap import Connection, Message

CLIENT: Message = {
    "clientID": "zentracer",
    "clientName": "zentracer debug",
    "adapterID": "zentracer",
    "locale": "en",
    "pathFormat": "path",
    "linesStartAt1": True,
    "columnsStartAt1": True,
    "supportsRunInTerminalRequest": True,
    "supportsStartDebuggingRequest": True,
    "supportsVariableType": True,
}

UNCAUGHT = "uncaught"
"""debugpy's filter for exceptions that end a thread: frameworks' own are explained there. What the
program handles itself does not stop it, and after any other it is resumed, to end as it would."""

_FOUND = ("exception", "function breakpoint", "data breakpoint")
"""Reasons of stops that have something to tell."""

ATTEMPTS = 5
"""How often breaks are set before a refusal is taken for final: the adapter also refuses while
the training process has not connected, for which it waits some seconds each time."""


class Host(Protocol):
    """What a session tells the run that owns it. All calls come on the main thread."""

    def stopped_at_finding(self, session: Session, thread: int, info: Message) -> None:
        """The program stands at a tensor exception; ``info`` is the exceptionInfo body."""
        ...

    def listed(self, findings: list[Message]) -> None:
        """Everything found so far in any process, stops among it (``zentracer/findings``)."""
        ...

    def stopped_elsewhere(self, session: Session, thread: int, reason: str) -> None:
        """The program stands for another reason, such as its own ``breakpoint()``."""
        ...

    def may_run(self, refused: list[tuple[int, str]]) -> bool:
        """The breaks are set, but for those ``refused`` (index and reason); False: do not run."""
        ...

    def break_changed(self, message: str) -> None:
        """A break that was set cannot work after all."""
        ...

    def break_unmet(self, session: Session, number: int, name: str, message: str) -> None:
        """The process has ended, and nothing had that name."""
        ...

    def open_terminal(self, arguments: Message) -> int:
        """Start the program's process; returns its pid."""
        ...

    def open_child(self, configuration: Message) -> None:
        """Attach to a process that the program has started."""
        ...

    def output(self, category: str, text: str) -> None:
        """Text the adapter wants shown."""
        ...

    def start_failed(self, session: Session, message: str) -> None:
        """Launch or attach was answered with an error."""
        ...

    def process_started(self, session: Session, pid: int | None) -> None:
        """The debugged process runs."""
        ...

    def exited(self, session: Session, code: int) -> None:
        """The process ended with this exit code."""
        ...

    def ended(self, session: Session) -> None:
        """Nothing more comes from this session."""
        ...


class Session:
    """Starts one process or attaches to one, arms the breaks, and reports its stops."""

    def __init__(self, host: Host, start: str, configuration: Message, breaks: Breaks) -> None:
        self._host = host
        self._start = start
        self._configuration = configuration
        self._breaks = breaks
        self.met: set[int] = set()
        """Breaks by name that something in this process has met."""
        self._waiting: dict[int, tuple[str, str]] = {}
        """By id, breaks by name that nothing has matched yet: name and reason."""
        self._answers: dict[int, Callable[[Message], None]] = {}
        self._over = False
        self._connection: Connection | None = None

    def begin(self, connection: Connection) -> None:
        """Say hello on ``connection``; everything else follows from the answers."""
        self._connection = connection
        self._ask("initialize", CLIENT, self._on_initialized_answer)

    def handle(self, message: Message | None) -> None:
        """Take one message of the adapter's; None is the end of the stream."""
        if message is None:
            self._end()
        elif message.get("type") == "event":
            self._on_event(message.get("event", ""), part(message, "body"))
        elif message.get("type") == "request":
            self._on_request(message)
        elif answer := self._answers.pop(message.get("request_seq", -1), None):
            answer(message)

    def resume(self, thread: int) -> None:
        """Let the whole process run on."""
        self._ask("continue", {"threadId": thread})

    def terminate(self) -> None:
        """End the process and all it started."""
        self._ask("disconnect", {"terminateDebuggee": True})

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()

    def _ask(
        self, command: str, arguments: Message, answer: Callable[[Message], None] | None = None
    ) -> None:
        if self._connection is None:
            return
        seq = self._connection.request(command, arguments)
        if answer is not None:
            self._answers[seq] = answer

    # -- start ---------------------------------------------------------------------------------

    def _on_initialized_answer(self, _: Message) -> None:
        self._ask(self._start, self._configuration, self._on_started)

    def _on_started(self, answer: Message) -> None:
        if not answer.get("success"):
            self._host.start_failed(self, error_text(answer))

    def _configure(self, attempt: int = 1) -> None:
        if self._start == "attach":  # the adapter arms the program's other processes by itself
            self._ask("setExceptionBreakpoints", {"filters": [UNCAUGHT]})
            self._ask("setFunctionBreakpoints", {"breakpoints": self._breaks.functions})
            self._ask("configurationDone", {})
            return
        options = [
            {"filterId" if key == "filter" else key: value for key, value in item.items()}
            for item in self._breaks.filters
        ]
        self._ask(
            "setExceptionBreakpoints",
            {"filters": [UNCAUGHT], "filterOptions": options},
            lambda answer: self._on_breaks_set(answer, attempt),
        )

    def _on_breaks_set(self, answer: Message, attempt: int) -> None:
        refused = [(index - 1, why) for index, why in refusals(answer) if index]
        if refused and attempt < ATTEMPTS:
            self._configure(attempt + 1)
        elif not self._breaks.functions:
            self._run(refused)
        else:
            self._ask(
                "setFunctionBreakpoints",
                {"breakpoints": self._breaks.functions},
                lambda functions: self._on_functions_set(functions, refused),
            )

    def _on_functions_set(self, answer: Message, refused: list[tuple[int, str]]) -> None:
        statuses: list[Message] = part(answer, "body").get("breakpoints") or []
        for item, status in zip(self._breaks.functions, statuses):
            number = status.get("id", 0)
            if status.get("reason") == "pending":
                self._waiting[number] = item["name"], str(status.get("message"))
            elif status.get("verified"):
                self._meet(number)
        first = len(self._breaks.filters)
        self._run([*refused, *((first + index, why) for index, why in refusals(answer))])

    def _run(self, refused: list[tuple[int, str]]) -> None:
        if self._host.may_run(refused):
            self._ask("configurationDone", {})

    # -- while it runs ---------------------------------------------------------------------------

    def _on_event(self, event: str, body: Message) -> None:
        if event == "initialized":
            self._configure()
        elif event == "stopped":
            self._on_stopped(body)
        elif event == "output":
            self._host.output(str(body.get("category") or "console"), str(body.get("output", "")))
        elif event == "zentracer/findings":
            self._host.listed(cast("list[Message]", body.get("findings") or []))
        elif event == "breakpoint":
            self._on_break_changed(part(body, "breakpoint"))
        elif event == "process":
            self._host.process_started(self, body.get("systemProcessId"))
        elif event == "exited":
            self._host.exited(self, int(body.get("exitCode", 0)))
        elif event == "terminated":
            self._end()

    def _on_stopped(self, body: Message) -> None:
        thread = int(body.get("threadId", 0))
        for number in cast("list[int]", body.get("hitBreakpointIds") or []):
            self._meet(number)
        if body.get("reason") not in _FOUND:
            self._host.stopped_elsewhere(self, thread, str(body.get("reason")))
            return

        def show(answer: Message) -> None:
            info: Message = part(answer, "body")
            if part(part(info, "details"), "zentracer"):
                self._host.stopped_at_finding(self, thread, info)
            else:
                self.resume(thread)

        self._ask("exceptionInfo", {"threadId": thread}, show)

    def _on_break_changed(self, status: Message) -> None:
        number = status.get("id", 0)
        if status.get("verified", True) or not status.get("message"):
            self._meet(number)
            return
        waits = self._waiting.pop(number, None)
        message = str(status["message"])
        if status.get("reason") == "pending":
            self._waiting[number] = waits[0] if waits else "--break", message
        else:
            self._host.break_changed(message)

    def _meet(self, number: int) -> None:
        self._waiting.pop(number, None)
        self.met.add(number)

    def _on_request(self, request: Message) -> None:
        assert self._connection is not None
        arguments: Message = part(request, "arguments")
        command = request.get("command")
        if command == "runInTerminal":
            try:
                pid = self._host.open_terminal(arguments)
            except OSError as error:
                self._connection.respond(request, error=str(error))
            else:
                self._connection.respond(request, {"processId": pid})
        elif command == "startDebugging":
            self._connection.respond(request)
            self._host.open_child(part(arguments, "configuration"))
        else:
            self._connection.respond(request, error=f"{command} is not supported")

    def _end(self) -> None:
        if not self._over:
            self._over = True
            for number, (name, message) in self._waiting.items():
                self._host.break_unmet(self, number, name, message)
            self._host.ended(self)


def part(message: Message, name: str) -> Message:
    """A part that should be an object; empty when it is absent."""
    value: Any = message.get(name)
    return cast(Message, value) if isinstance(value, dict) else {}


def refusals(answer: Message) -> list[tuple[int, str]]:
    """Index and reason of each break that was not set."""
    if not answer.get("success"):
        return [(0, error_text(answer))]
    statuses: list[Message] = part(answer, "body").get("breakpoints") or []
    return [
        (index, str(status.get("message") or "it could not be set"))
        for index, status in enumerate(statuses)
        if not status.get("verified") and status.get("reason") != "pending"
    ]


def error_text(answer: Message) -> str:
    """The sentence in a failed response."""
    error = part(part(answer, "body"), "error")
    text = str(error.get("format") or answer.get("message") or "request failed")
    for name, value in part(error, "variables").items():
        text = text.replace("{" + name + "}", str(value))
    return text
