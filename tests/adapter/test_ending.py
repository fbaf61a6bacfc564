"""Ending a session: the program runs on or ends as DAP says, and the adapter always goes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest
from conftest import PROGRAMS
from dap_client import HANG_GUARD, line_of

WAITS = PROGRAMS / "waits.py"
LOOP = PROGRAMS / "debug_loop.py"


class Waiting:
    """The program ``waits.py``: what it has done, and the word to go on."""

    def __init__(self, folder):
        self.ready, self.go, self.done = (folder / name for name in ("ready", "go", "done"))
        self.arguments = [str(self.ready), str(self.go), str(self.done)]

    def pid(self) -> int:
        wait_for(self.ready.exists)
        return int(self.ready.read_text())

    def let_go(self):
        self.go.touch()

    def wait_done(self):
        wait_for(self.done.exists)


def wait_for(condition):
    """Poll ``condition``; the process it is about is not ours to wait for."""
    pause = threading.Event()
    for _ in range(int(HANG_GUARD / 0.02)):
        if condition():
            return
        pause.wait(0.02)
    raise AssertionError("it did not happen")


def is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.fixture
def waiting(tmp_path):
    return Waiting(tmp_path)


def test_terminate_ends_a_launched_program(client, waiting):
    client.launch(program=WAITS, args=waiting.arguments)
    pid = waiting.pid()
    client.request("terminate")
    client.wait_event("terminated")
    wait_for(lambda: is_gone(pid))
    client.request("disconnect")
    assert client.wait_adapter() == 0


def test_disconnect_ends_a_launched_program(client, waiting):
    client.launch(program=WAITS, args=waiting.arguments)
    pid = waiting.pid()
    client.request("disconnect")
    assert client.wait_adapter() == 0
    wait_for(lambda: is_gone(pid))


def test_disconnect_leaves_a_launched_program_running_on_request(client, waiting):
    line = line_of(WAITS, "wait")
    client.launch(program=WAITS, args=waiting.arguments, breakpoints={WAITS: [line]})
    client.until_stopped()
    client.request("disconnect", terminateDebuggee=False)
    assert client.wait_adapter() == 0
    waiting.let_go()
    waiting.wait_done()
    pid = waiting.pid()
    wait_for(lambda: is_gone(pid))


def test_death_of_the_editor_ends_a_launched_program(client, waiting):
    client.launch(program=WAITS, args=waiting.arguments)
    pid = waiting.pid()
    client.connection.close()
    assert client.wait_adapter() == 0
    wait_for(lambda: is_gone(pid))


def test_death_of_the_editor_in_the_middle_of_a_message(client, waiting):
    client.launch(program=WAITS, args=waiting.arguments)
    pid = waiting.pid()
    client.connection.send_raw(b'Content-Length: 100\r\n\r\n{"seq": 9, "type"')
    client.connection.close()
    assert client.wait_adapter() == 1
    wait_for(lambda: is_gone(pid))


def test_death_of_the_editor_during_a_stop(client, waiting):
    line = line_of(WAITS, "wait")
    client.launch(program=WAITS, args=waiting.arguments, breakpoints={WAITS: [line]})
    client.until_stopped()
    pid = waiting.pid()
    client.connection.close()
    assert client.wait_adapter() == 0
    wait_for(lambda: is_gone(pid))


def test_no_editor_at_all():
    command = [sys.executable, "-m", "zentracer_dap"]
    devices = {"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=HANG_GUARD, **devices)
    assert (done.returncode, done.stderr) == (0, b"")


def test_death_of_the_editor_before_anything_is_started(client):
    client.initialize()
    client.connection.close()
    assert client.wait_adapter() == 0


@pytest.mark.parametrize("stopped", [True, False], ids=["stopped", "running"])
def test_a_killed_adapter_leaves_the_program_running(client, waiting, stopped):
    breakpoints = {WAITS: [line_of(WAITS, "wait")]} if stopped else {}
    client.launch(program=WAITS, args=waiting.arguments, breakpoints=breakpoints)
    pid = waiting.pid()
    if stopped:
        client.until_stopped()
    os.kill(client.process.pid, signal.SIGKILL)
    waiting.let_go()
    waiting.wait_done()
    wait_for(lambda: is_gone(pid))


def test_a_detached_program_starts_children(client, write_program, tmp_path):
    program = write_program(
        """
        import multiprocessing, os, subprocess, sys, time

        def work(path):
            open(path, "w").write("done")

        if __name__ == "__main__":
            folder = sys.argv[1]
            open(folder + "/ready", "w").close()
            while not os.path.exists(folder + "/go"):
                time.sleep(0.01)
            for kind in ("fork", "spawn"):
                child = multiprocessing.get_context(kind).Process(
                    target=work, args=(folder + "/" + kind,))
                child.start()
                child.join()
            subprocess.run([sys.executable, "-c", "print(1)"], check=True)
            open(folder + "/all", "w").close()
        """
    )
    client.launch(program=program, args=[str(tmp_path)])
    wait_for((tmp_path / "ready").exists)
    client.request("disconnect", terminateDebuggee=False)
    client.wait_adapter()
    (tmp_path / "go").touch()
    wait_for((tmp_path / "all").exists)
    assert (tmp_path / "fork").read_text() == (tmp_path / "spawn").read_text() == "done"


def test_death_of_debugpy_is_said_and_ends_the_session(client):
    client.launch(program=LOOP, breakpoints={LOOP: [line_of(LOOP, "loop")]})
    client.until_stopped()
    children = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(client.process.pid)], capture_output=True, text=True
    )
    for pid in children.stdout.split():
        os.kill(int(pid), signal.SIGKILL)
    client.wait_event("terminated")
    assert "debugpy adapter ended unexpectedly" in client.output("important")
    assert client.wait_adapter() == 1


def test_the_program_ends_during_a_stop(client, waiting):
    line = line_of(WAITS, "wait")
    client.launch(program=WAITS, args=waiting.arguments, breakpoints={WAITS: [line]})
    client.until_stopped()
    os.kill(waiting.pid(), signal.SIGKILL)
    client.wait_event("terminated")
    client.request("disconnect")
    assert client.wait_adapter() == 0


@pytest.mark.parametrize(
    ("bytes_sent", "words"),
    [
        (b"this is not DAP\r\n\r\n", "not a header line"),
        (b"Content-Length: x\r\n\r\n", "not a number of bytes"),
        (b"Content-Length: 5\r\n\r\n{nope", "not JSON"),
        (b"Content-Length: 2\r\n\r\n[]", "not a JSON object"),
    ],
)
def test_garbage_from_the_editor(client, waiting, bytes_sent, words):
    client.launch(program=WAITS, args=waiting.arguments)
    pid = waiting.pid()
    client.connection.send_raw(bytes_sent)
    client.wait_event("terminated")
    assert words in client.output("important")
    assert client.wait_adapter() == 1
    wait_for(lambda: is_gone(pid))


def test_no_warnings_and_nothing_on_stderr(start_client):
    client = start_client(env={"PYTHONWARNINGS": "error", "PYTHONDEVMODE": "1"})
    client.launch(program=LOOP)
    assert client.until_exit() == 0
    client.request("disconnect")
    assert client.wait_adapter() == 0
    assert client.stderr == ""


def test_tcp(start_client):
    command = [sys.executable, "-m", "zentracer_dap", "--listen", "127.0.0.1:0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        line = server.stdout.readline()
        port = int(line.rpartition(":")[2])
        for _ in range(2):
            client = start_client(address=("127.0.0.1", port))
            client.launch(program=LOOP, breakpoints={LOOP: [line_of(LOOP, "loop")]})
            client.until_stopped()
            client.request("disconnect")
            client.connection.wait_closed()
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()
