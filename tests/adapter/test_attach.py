"""Attaching: to a program that listens, that connects, or by its process id."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
from conftest import PROGRAMS
from dap_client import RequestFailed, line_of
from test_ending import Waiting, is_gone, wait_for

LISTENS = PROGRAMS / "listens.py"
WAITS = PROGRAMS / "waits.py"


@pytest.fixture
def start_program():
    processes = []

    def start(*command, **options):
        processes.append(subprocess.Popen([sys.executable, *map(str, command)], **options))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()


def test_a_program_that_listens(client, start_program, tmp_path):
    port = tmp_path / "port"
    program = start_program(LISTENS, "listen", port)
    wait_for(port.exists)
    connect = {"host": "127.0.0.1", "port": int(port.read_text())}
    client.attach(connect=connect, breakpoints={LISTENS: [line_of(LISTENS, "attached")]})
    stop = client.until_stopped()
    assert client.evaluate("value", stop.frame_id)["result"] == "42"
    assert client.evaluate("'zentracer' in __import__('sys').modules")["result"] == "True"
    client.request("disconnect")
    assert client.wait_adapter() == 0
    assert program.wait() == 0, "an attached program runs on"
    assert (tmp_path / "port.done").exists()


def test_restart_attaches_again(client, start_program, tmp_path):
    port = tmp_path / "port"
    start_program(LISTENS, "listen", port, "wait")
    wait_for(port.exists)
    connect = {"host": "127.0.0.1", "port": int(port.read_text())}
    client.attach(connect=connect, breakpoints={LISTENS: [line_of(LISTENS, "wait")]})
    client.until_stopped()
    client.request("restart")
    stop = client.until_stopped()
    assert client.evaluate("value", stop.frame_id)["result"] == "42"


def test_a_program_that_connects(client, start_program, tmp_path):
    client.initialize()
    seq = client.send("attach", listen={"host": "127.0.0.1", "port": 0})
    port = client.wait_event("debugpyWaitingForServer")["port"]
    start_program(LISTENS, "connect", tmp_path / "x", port)
    client.wait_event("initialized")
    client.set_breakpoints(LISTENS, [line_of(LISTENS, "attached")])
    client.request("configurationDone")
    client.finish(seq)
    client.until_stopped()


def can_inject():
    """Whether gdb may call a function in a process of ours, which sandboxes often forbid."""
    if shutil.which("gdb") is None:
        return False
    target = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    command = ["gdb", "--nx", "--batch", "--eval-command=call (int)getpid()", "--pid"]
    done = subprocess.run([*command, str(target.pid)], capture_output=True, text=True, check=False)
    target.kill()
    target.communicate()
    return f"= {target.pid}" in done.stdout


def test_process_id(client, start_program, tmp_path):
    if not can_inject():
        pytest.skip("attaching by process id needs gdb and the right to trace a process")
    waiting = Waiting(tmp_path)
    start_program(WAITS, *waiting.arguments)
    client.attach(processId=waiting.pid(), breakpoints={WAITS: [line_of(WAITS, "wait")]})
    client.until_stopped()
    client.request("disconnect")
    waiting.let_go()
    waiting.wait_done()


def test_terminate_ends_an_attached_program(client, start_program, tmp_path):
    port = tmp_path / "port"
    program = start_program(LISTENS, "listen", port)
    wait_for(port.exists)
    connect = {"host": "127.0.0.1", "port": int(port.read_text())}
    client.attach(connect=connect, breakpoints={LISTENS: [line_of(LISTENS, "attached")]})
    client.until_stopped()
    client.request("disconnect", terminateDebuggee=True)
    program.wait()
    assert not (tmp_path / "port.done").exists()


def test_a_killed_adapter_leaves_an_attached_program_running(client, start_program, tmp_path):
    port = tmp_path / "port"
    program = start_program(LISTENS, "listen", port)
    wait_for(port.exists)
    connect = {"host": "127.0.0.1", "port": int(port.read_text())}
    client.attach(connect=connect, breakpoints={LISTENS: [line_of(LISTENS, "attached")]})
    client.until_stopped()
    client.process.kill()
    assert program.wait() == 0


def test_nothing_listens(client):
    with pytest.raises(RequestFailed, match=r"Nothing answers at 127.0.0.1:9 ") as failure:
        client.attach(connect={"host": "127.0.0.1", "port": 9})
    assert failure.value.response["body"]["error"]["showUser"]
    client.wait_event("terminated")
    client.request("disconnect")
    assert client.wait_adapter() == 0


def test_no_such_process(client):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert is_gone(gone.pid)
    with pytest.raises(RequestFailed, match=f"Attaching to process {gone.pid} failed"):
        client.attach(processId=gone.pid)
    client.wait_event("terminated")
    client.request("disconnect")
    client.wait_adapter()
