"""``zentracer debug`` in a terminal: what the program sees, colours, and Ctrl-C."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pty = pytest.importorskip("pty")

COMMAND = ["-c", "from zentracer_dap.cli import main; main()", "debug", "program.py"]
Write = Callable[..., Path]


class Terminal:
    """A process whose controlling terminal is ours to read and to type into."""

    def __init__(self, folder: Path) -> None:
        self.text = ""
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ.pop("NO_COLOR", None)
            os.environ["TERM"] = "xterm"
            os.execv(sys.executable, [sys.executable, *COMMAND])

    def type(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def read_until(self, text: str) -> None:
        while text not in self.text and self._read():
            pass
        assert text in self.text, self.text

    def end(self) -> int:
        """Read to the end; returns the exit code."""
        while self._read():
            pass
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self._fd)
        return code

    def _read(self) -> bool:
        try:
            data = os.read(self._fd, 65536)
        except OSError:  # Linux says so when the last process has closed its side
            return False
        self.text += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)


def test_the_program_has_the_terminal(write_program: Write, tmp_path: Path):
    write_program(
        """
        import os, sys
        print([s.isatty() for s in (sys.stdin, sys.stdout, sys.stderr)])
        print("columns", os.get_terminal_size().columns)
        print("hello", input("name? "))
        """
    )
    terminal = Terminal(tmp_path)
    terminal.read_until("name? ")
    terminal.type("world\n")
    assert terminal.end() == 0
    assert "[True, True, True]" in terminal.text
    assert "hello world" in terminal.text


def test_findings_are_coloured(write_program: Write, tmp_path: Path):
    write_program("import torch\ntorch.log(torch.zeros(2))\n")
    terminal = Terminal(tmp_path)
    assert terminal.end() == 3
    assert "\033[1;31mtorch.log(torch.zeros(2))\033[0m" in terminal.text


def test_control_c_is_the_programs_keyboard_interrupt(write_program: Write, tmp_path: Path):
    write_program(
        """
        import time

        try:
            print("ready", flush=True)
            while True:
                time.sleep(0.01)
        except KeyboardInterrupt:
            print("interrupted")
            raise SystemExit(9)
        """
    )
    terminal = Terminal(tmp_path)
    terminal.read_until("ready")
    terminal.type("\x03")
    assert terminal.end() == 9
    assert "interrupted" in terminal.text


def test_a_second_control_c_ends_a_program_that_ignores_the_first(
    write_program: Write, tmp_path: Path
):
    write_program(
        """
        import os, signal, time

        signal.signal(signal.SIGINT, lambda *_: os.write(1, b"ignored\\n"))
        print(os.getpid(), "ready", flush=True)
        while True:
            time.sleep(0.01)
        """
    )
    terminal = Terminal(tmp_path)
    terminal.read_until("ready")
    program = int(terminal.text.split()[-2])
    terminal.type("\x03")
    terminal.read_until("ignored")
    terminal.type("\x03")
    assert terminal.end() != 0
    with pytest.raises(ProcessLookupError):
        os.kill(program, 0)
