"""What ZenTracer says about itself is in the console and an event for graphical clients."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from conftest import PROGRAMS
from test_ending import wait_for

LISTENS = PROGRAMS / "listens.py"
ROOT = Path(__file__).parents[2]
VERSION = metadata.version("zentracer")


@pytest.fixture
def start_listening(tmp_path):
    """Start a program that waits for a debugger; returns where it listens."""
    programs = []

    def start(*options, **env):
        port = tmp_path / "port"
        command = [sys.executable, *options, str(LISTENS), "listen", str(port)]
        programs.append(subprocess.Popen(command, env={**os.environ, **env}))
        wait_for(port.exists)
        return {"host": "127.0.0.1", "port": int(port.read_text())}

    yield start
    for program in programs:
        program.kill()
        program.wait()


def check_said_once(client, part):
    message = client.wait_event("zentracer/notice", lambda body: part in body["message"])["message"]
    assert client.output("important").count(message) == 1
    return message


def test_a_process_that_wants_no_zentracer(client, start_listening):
    client.attach(connect=start_listening(ZENTRACER="off"))
    message = check_said_once(client, "switched off")
    assert message.startswith("ZenTracer is not available in this process")
    client.request("disconnect")
    assert client.wait_adapter() == 0


def test_a_process_that_has_loaded_another_version(client, start_listening, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(ROOT / "zentracer", other / "zentracer")
    init = other / "zentracer" / "__init__.py"
    init.write_text(init.read_text(encoding="utf-8").replace(VERSION, "0.0.9"), encoding="utf-8")
    (other / "sitecustomize.py").write_text("import zentracer\n", encoding="utf-8")
    client.attach(connect=start_listening(PYTHONPATH=str(other)))
    message = check_said_once(client, "0.0.9")
    assert f"this adapter is ZenTracer {VERSION}" in message
    client.wait_event("terminated")
