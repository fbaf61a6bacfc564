"""Processes of a run: the adapter, and the user's program with this terminal as its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import Any, Callable

from zentracer_dap.headless.dap import Connection, Message, Receiver


def start_adapter(receive: Receiver) -> tuple[subprocess.Popen[bytes], Connection]:
    """Start ``python -m zentracer_dap`` on stdio.

    It gets a session of its own, so that Ctrl-C in the terminal does not end it before it could
    end the program.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "zentracer_dap"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin and process.stdout
    return process, Connection(process.stdout, process.stdin, receive)


class Program:
    """The user's program, started by debugpy's launcher on our stdin, stdout and stderr.

    The launcher gets a session of its own: debugpy would otherwise make the program the
    terminal's foreground group, and Ctrl-Z would stop the program but not this command, which
    waits for it. So Ctrl-C and Ctrl-Z arrive here and are handed on.
    """

    def __init__(self, *, stdout_to_stderr: bool) -> None:
        self._stdout = sys.stderr.fileno() if stdout_to_stderr else None
        self._launcher: subprocess.Popen[bytes] | None = None
        self.pid: int | None = None
        """The program's process, known once it runs."""

    def start(self, arguments: Message) -> int:
        """Carry out a ``runInTerminal`` request; returns the launcher's pid."""
        changes: dict[str, Any] = arguments.get("env") or {}
        environment = {**os.environ, **{k: str(v) for k, v in changes.items() if v is not None}}
        for name in (name for name, value in changes.items() if value is None):
            environment.pop(name, None)
        sys.stdout.flush()
        sys.stderr.flush()
        self._launcher = subprocess.Popen(
            arguments["args"],
            cwd=arguments.get("cwd"),
            env=environment,
            stdout=self._stdout,
            start_new_session=True,
        )
        return self._launcher.pid

    @property
    def is_started(self) -> bool:
        """Whether the launcher was started."""
        return self._launcher is not None

    def when_over(self, tell: Callable[[], None]) -> None:
        """Call ``tell``, on another thread, once the launcher has ended."""
        if (launcher := self._launcher) is not None:
            threading.Thread(target=lambda: (launcher.wait(), tell()), daemon=True).start()

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the program and what it started."""
        if self.pid is None or os.name == "nt":
            return
        try:
            os.killpg(os.getpgid(self.pid), number)
        except ProcessLookupError:  # it has ended meanwhile
            self.pid = None

    def wait(self, seconds: float) -> None:
        """Wait for the launcher; kill what is left after that time."""
        if self._launcher is None:
            return
        try:
            self._launcher.wait(seconds)
        except subprocess.TimeoutExpired:
            self.send(signal.SIGKILL)
            self._launcher.kill()
            self._launcher.wait()


def shell_code(code: int) -> int:
    """The code a shell reports: debugpy gives a death by signal N as 256 - N, a shell as 128 + N.

    Only signals that programs die of are taken for one, because 255 is also ``sys.exit(-1)``.
    """
    deadly = (
        signal.SIGINT,
        signal.SIGILL,
        signal.SIGABRT,
        signal.SIGFPE,
        signal.SIGKILL,
        signal.SIGSEGV,
        signal.SIGTERM,
    )
    number = 256 - code
    return 128 + number if os.name != "nt" and number in deadly else code
