"""One run of ``zentracer debug``: sessions, findings, signals and the exit code."""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import threading
from dataclasses import dataclass
from types import FrameType
from typing import Any

from zentracer.wire.decode import WireError
from zentracer.wire.filters import ERROR
from zentracer_dap.headless.breaks import refusal
from zentracer_dap.headless.dap import Connection, Message
from zentracer_dap.headless.finding import Findings, read_advice, read_finding
from zentracer_dap.headless.options import Options
from zentracer_dap.headless.printer import Printer
from zentracer_dap.headless.problem import UsageProblem
from zentracer_dap.headless.program import Program, shell_code, start_adapter
from zentracer_dap.headless.session import Session, part

FOUND = 3
"""Exit code when something was found."""

BROKEN = 70
"""Exit code when the debugger itself failed (EX_SOFTWARE)."""

PATIENCE = 5.0
"""Seconds the program gets to end after Ctrl-C or an error, and the adapter after the program."""

Event = tuple[str, Any, Any]


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    code: int
    """The command's exit code."""
    findings: Findings
    complete: bool
    """False when the debugger itself failed, so that there may be more to find."""


def debug(options: Options, printer: Printer) -> Outcome:
    """Run the program to its end (or to the first finding).

    Raises:
        UsageProblem: a break was refused before the program's first line.
    """
    return Run(options, printer).to_the_end()


class Run:
    """Everything happens on the main thread, which takes events from one queue.

    Reading threads put messages there, and so do signal handlers.
    """

    def __init__(self, options: Options, printer: Printer) -> None:
        self._findings = Findings()
        self._options = options
        self._printer = printer
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._sessions: dict[Connection, Session] = {}
        self._program = Program(stdout_to_stderr=options.json)
        self._root = Session(self, "launch", self._configuration(), options.breaks)
        self._over = False
        self._ending = False
        self._exit_code: int | None = None
        self._interrupts = 0
        self._problem: UsageProblem | None = None
        self._failure: str | None = None
        self._said: set[str] = set()
        self._held: list[str] | None = []
        """What ZenTracer says before it is known which breaks are refused: may_run says those."""

    def to_the_end(self) -> Outcome:
        """Start, serve events until the program has ended, clean up."""
        adapter, connection = start_adapter(self._receive)
        self._sessions[connection] = self._root
        with _Signals(self._events):
            try:
                self._root.begin(connection)
                while not self._over:
                    self._serve(self._events.get())
            finally:
                self._say_held(besides=set())
                self._clean_up(adapter)
        if self._problem is not None:
            raise self._problem
        code = self._code()
        return Outcome(code, self._findings, complete=self._failure is None)

    def _code(self) -> int:
        if self._findings:
            return FOUND
        if self._exit_code is None and self._interrupts:
            return 130
        if self._exit_code is None:
            self._fail("the debug adapter has ended")
        return BROKEN if self._failure or self._exit_code is None else self._exit_code

    def _fail(self, text: str) -> None:
        """Note that the debugger itself failed, and say so at once; only the first cause counts."""
        if self._failure is None:
            self._failure = text
            self._printer.problem(text)

    def _configuration(self) -> Message:
        return {
            "name": "zentracer debug",
            "type": "python",
            "request": "launch",
            "console": "integratedTerminal",
            "justMyCode": True,
            "env": _environment(),
            "zentracer": {
                "breakOn": self._options.breaks.filters,
                "precise": self._options.precise,
                "advice": self._options.advice,
                "holdRanks": False,  # nobody looks around at a stop here
            },
            **self._options.target.launch(),
        }

    # -- events ----------------------------------------------------------------------------------

    def _receive(self, connection: Connection, message: Message | None) -> None:
        self._events.put(("message", connection, message))

    def _serve(self, event: Event) -> None:
        kind, subject, detail = event
        if kind == "message":
            session = self._sessions.get(subject)
            if session is not None:
                session.handle(detail)
        elif kind == "signal":
            self._on_signal(signal.Signals(subject))
        elif kind == "over":
            self._over = True
        elif kind == "end" or (kind == "impatient" and self._interrupts == subject):
            self._end()

    def _on_signal(self, number: signal.Signals) -> None:
        """First Ctrl-C: the program's KeyboardInterrupt. Second, or any other signal: its end."""
        self._interrupts += 1
        if number == signal.SIGINT and self._interrupts == 1:
            self._program.send(signal.SIGINT)
            self._later("impatient", self._interrupts)
        elif self._interrupts <= 2:
            self._end()
        else:
            self._program.send(signal.SIGKILL)

    def _later(self, kind: str, subject: Any = None) -> None:
        """Put an event into the queue once the program has had time to end by itself."""
        timer = threading.Timer(PATIENCE, self._events.put, ((kind, subject, None),))
        timer.daemon = True
        timer.start()

    def _clean_up(self, adapter: subprocess.Popen[bytes]) -> None:
        for session in self._sessions.values():
            session.close()
        try:
            adapter.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            adapter.kill()
            adapter.wait()
        self._program.wait(PATIENCE)

    # -- what sessions tell ----------------------------------------------------------------------

    def stopped_at_finding(self, session: Session, thread: int, info: Message) -> None:
        """Show or count the finding, then run on, or end the program with ``--first``."""
        try:
            finding = read_finding(info)
        except WireError as error:
            self._say_once(f"a finding could not be read ({error})")
            session.resume(thread)
            return
        known = self._findings.add(finding)
        if known is None:
            self._printer.show(finding, self._findings.elsewhere(finding))
        if finding.details.filter == ERROR.id:
            session.resume(thread)  # the program's own traceback, and its end
            if self._options.stop_at_first:
                self._later("end")
        elif self._options.stop_at_first:
            self._end()
        else:
            session.resume(thread)

    def listed(self, findings: list[Message]) -> None:
        """Show advice that is new; what the program stopped at has been shown there."""
        for listed in findings:
            try:
                advice = read_advice(listed)
            except WireError as error:
                self._say_once(f"a finding could not be read ({error})")
                continue
            if advice is not None and self._findings.add(advice) is None:
                self._printer.show(advice, self._findings.elsewhere(advice))

    def stopped_elsewhere(self, session: Session, thread: int, reason: str) -> None:
        """Nobody is here to look: run on."""
        if reason in ("breakpoint", "pause", "step"):
            self._say_once(
                "breakpoint() in the program is passed over, there is no editor to stop in"
            )
        session.resume(thread)

    def may_run(self, refused: list[tuple[int, str]]) -> bool:
        """A refused break ends the run before the program's first line."""
        self._say_held(besides={message for _, message in refused})
        if not refused:
            return True
        texts = [self._refusal(index, message) for index, message in refused]
        self._problem = UsageProblem("\n".join(texts))
        self._end()
        return False

    def _refusal(self, index: int, message: str) -> str:
        breaks = [*self._options.breaks.filters, *self._options.breaks.functions]
        item = breaks[index] if index < len(breaks) else {}
        if condition := item.get("condition"):
            return refusal(condition, message)
        return f"{item.get('filter') or item.get('name') or '--break'}: {message}"

    def break_changed(self, message: str) -> None:
        """Say that a break stepped aside."""
        self._say_once(message)

    def break_unmet(self, session: Session, number: int, name: str, message: str) -> None:
        """Say what was never there, in no process; the launched one ends last."""
        if session is self._root and not any(number in s.met for s in self._sessions.values()):
            self._say_once(f"{name} was not reached: {at_the_end(message)}")

    def open_terminal(self, arguments: Message) -> int:
        """Start the program on our own stdin, stdout and stderr."""
        return self._program.start(arguments)

    def open_child(self, configuration: Message) -> None:
        """Attach to a process of the program's: a rank, a worker."""
        target = part(configuration, "connect")
        child = Session(self, "attach", configuration, self._options.breaks)
        try:
            connection = Connection.connect(
                target.get("host", "127.0.0.1"), int(target["port"]), self._receive
            )
        except (OSError, KeyError, ValueError) as error:
            self._say_once(f"a process of the program's could not be followed ({error})")
            return
        self._sessions[connection] = child
        child.begin(connection)

    def output(self, category: str, text: str) -> None:
        """Pass on what the adapter wants shown; ``important`` is what ZenTracer itself says."""
        if category != "important":
            self._printer.output(category, text)
        elif self._held is not None:
            self._held.append(text)
        else:
            self._say_once(text)

    def start_failed(self, session: Session, message: str) -> None:
        """Without its first process there is no run; other processes are only reported."""
        if session is self._root:
            self._fail(f"the program could not be started: {message}")
            self._over = True
        else:
            self._say_once(f"a process of the program's could not be followed ({message})")

    def process_started(self, session: Session, pid: int | None) -> None:
        """Remember whom to hand signals to."""
        if session is self._root:
            self._program.pid = pid

    def exited(self, session: Session, code: int) -> None:
        """The first process's exit code is the command's."""
        if session is self._root:
            self._exit_code = shell_code(code)

    def ended(self, session: Session) -> None:
        """The run is over with its first process."""
        if session is not self._root:
            return
        if self._exit_code is not None or self._ending or not self._program.is_started:
            self._over = True
            return
        self._fail("the debug adapter has ended; the program goes on unwatched")
        self._program.when_over(lambda: self._events.put(("over", None, None)))

    def _end(self) -> None:
        self._ending = True
        if self._failure is None:
            self._root.terminate()
        else:  # there is no adapter left to ask
            self._program.send(signal.SIGKILL)

    def _say_held(self, besides: set[str]) -> None:
        held, self._held = self._held or [], None
        for text in held:
            if text.strip() not in besides:
                self._say_once(text)

    def _say_once(self, text: str) -> None:
        text = text.strip()
        if text not in self._said:
            self._said.add(text)
            self._printer.problem(text)


def at_the_end(message: str) -> str:
    """Return why a break waited, in words that are true once the program is over."""
    said = re.sub(
        r"No model is alive yet; the breakpoint becomes active when (a module '.*') is called\.",
        r"\1 was never called.",
        message,
    )
    said = re.sub(r" yet; the breakpoint becomes active when one does\.", ".", said)
    return said


def _environment() -> dict[str, str]:
    """What the program gets besides our own environment.

    Unbuffered, so that its lines and the findings come in the order they happened and nothing is
    lost when --first ends it. And no advice of pydevd's on stderr about frozen modules, which it
    gives in every child process.
    """
    wanted = {"PYTHONUNBUFFERED": "1", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    return {name: value for name, value in wanted.items() if name not in os.environ}


class _Signals:
    """Turns Ctrl-C and its like into events for as long as the program runs."""

    def __init__(self, events: queue.SimpleQueue[Event]) -> None:
        self._events = events
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> _Signals:
        names = ("SIGINT", "SIGTERM", "SIGHUP")
        for number in (getattr(signal, name) for name in names if hasattr(signal, name)):
            self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, _: FrameType | None) -> None:
        self._events.put(("signal", number, None))
