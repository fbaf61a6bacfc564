"""The program goes on when nobody debugs it any more, from our stop as well."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from dap_client import HANG_GUARD, Client, line_of


@pytest.fixture
def stopped(client: Client, programs: Path, tmp_path: Path) -> Client:
    """A program that stands at a stop of ours."""
    program = programs / "stop_after_detach.py"
    client.launch(program=program, args=[str(tmp_path / "go"), str(tmp_path / "done")])
    assert client.until_stopped().line == line_of(program, "stop")
    return client


def result(tmp_path: Path) -> Any:
    """What the program wrote at its end."""
    (tmp_path / "go").touch()
    deadline = time.monotonic() + HANG_GUARD
    while not (tmp_path / "done").exists():
        assert time.monotonic() < deadline, "the program does not come to its end"
        time.sleep(0.01)
    return (tmp_path / "done").read_text()


def test_killed_during_a_stop(stopped: Client, tmp_path: Path) -> None:
    assert stopped.process is not None
    os.kill(stopped.process.pid, signal.SIGKILL)
    assert result(tmp_path) == "True False"


def test_killed_while_the_program_runs(stopped: Client, tmp_path: Path) -> None:
    stopped.resume()
    assert stopped.process is not None
    os.kill(stopped.process.pid, signal.SIGKILL)
    # Whether the second stop still comes is a race between the program and the death.
    assert result(tmp_path).startswith("True ")


def test_detached(stopped: Client, tmp_path: Path) -> None:
    stopped.request("disconnect", terminateDebuggee=False)
    assert result(tmp_path) == "True False"
