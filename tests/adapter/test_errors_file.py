"""``--errors-to FILE``: a crash leaves its trace where the editor's user finds it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import pytest
from bundles import make_bundle, make_environment
from conftest import PROGRAMS
from dap_client import RequestFailed

LOOP = PROGRAMS / "debug_loop.py"
HEADER = r"--- \d{4}-\d\d-\d\d \d\d:\d\d:\d\d ZenTracer \d+\.\d+\.\d+, Python \d+\.\d+\.\d+, "


@pytest.fixture
def errors(tmp_path):
    return tmp_path / "logs" / "errors.txt"


@pytest.fixture
def recorded(start_client, errors):
    def start(*options):
        command = [sys.executable, "-m", "zentracer_dap", "--errors-to", errors, *options]
        return start_client(command=[str(part) for part in command])

    return start


def check_header(client, text):
    assert re.match(HEADER + rf"process {client.process.pid} ---\n", text)


@pytest.mark.parametrize("before", [None, "something older\n"])
def test_a_session_without_errors_leaves_nothing(recorded, errors, before):
    if before is not None:
        errors.parent.mkdir()
        errors.write_text(before)
    client = recorded()
    client.launch(program=LOOP)
    assert client.until_exit() == 0
    client.request("disconnect")
    assert client.wait_adapter() == 0
    assert (errors.read_text() if errors.exists() else None) == before


def test_a_crash_of_python_itself(recorded, errors):
    client = recorded()
    client.initialize()
    os.kill(client.process.pid, signal.SIGABRT)
    assert client.wait_adapter() == -signal.SIGABRT
    text = errors.read_text()
    check_header(client, text)
    assert "Fatal Python error: Aborted" in text and "run_forever" in text


def test_a_killed_adapter_leaves_its_header(recorded, errors):
    client = recorded()
    client.initialize()
    client.process.kill()
    client.wait_adapter()
    check_header(client, errors.read_text())


def test_an_exception_that_nobody_handles(recorded, errors, tmp_path):
    (tmp_path / "file").touch()
    client = recorded("--log-dir", tmp_path / "file")
    assert client.wait_adapter() == 1
    text = errors.read_text()
    check_header(client, text)
    assert "Traceback" in text and "FileExistsError" in text
    assert client.stderr == ""


def test_a_crash_in_a_handler_is_an_answer_and_a_trace(recorded, errors):
    client = recorded()
    client.initialize()
    with pytest.raises(RequestFailed, match="Please report this"):
        client.request("cancel", requestId=[])  # no editor sends a list
    text = errors.read_text()
    check_header(client, text)
    assert "_on_cancel" in text and "TypeError" in text
    client.launch(program=LOOP)
    assert client.until_exit() == 0


def test_what_debugpy_says_before_it_ends(errors, tmp_path):
    folder = make_bundle(tmp_path / "bundle")
    (folder / "debugpy").unlink()
    (folder / "debugpy").mkdir()
    (folder / "debugpy" / "_version.py").touch()
    (folder / "debugpy" / "__init__.py").write_text("raise RuntimeError('debugpy is broken')")
    python, _ = make_environment(tmp_path / "plain", sys.executable)
    command = [python, str(folder / "zentracer_dap"), "--errors-to", str(errors)]
    result = subprocess.run(
        command, input=b"", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
    )
    assert result.stderr == b""
    assert "RuntimeError: debugpy is broken" in errors.read_text()


def test_two_adapters_share_a_file(recorded, errors):
    first, second = recorded(), recorded()
    first.initialize(), second.initialize()
    first.process.send_signal(signal.SIGABRT)
    first.wait_adapter()
    second.request("disconnect")
    assert second.wait_adapter() == 0
    assert f"process {first.process.pid} ---" in errors.read_text()
    assert "Fatal Python error" in errors.read_text()


def test_a_file_that_cannot_be_written(recorded, errors):
    errors.mkdir(parents=True)
    client = recorded()
    client.launch(program=LOOP)
    assert client.until_exit() == 0
    assert "cannot be written" in client.stderr
