"""Child processes come back through our adapter, whatever the editor understands."""

from __future__ import annotations

import pytest
from conftest import PROGRAMS
from dap_client import line_of
from test_ending import wait_for

CHILDREN = PROGRAMS / "children.py"
KINDS = ["fork", "spawn", "subprocess"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("start_debugging", [True, False], ids=["startDebugging", "debugpyAttach"])
def test_a_child_is_debugged(start_client, kind, start_debugging):
    client = start_client(start_debugging=start_debugging)
    client.launch(program=CHILDREN, args=[kind])
    announced = client.wait_child()
    assert announced.announced_by == ("startDebugging" if start_debugging else "debugpyAttach")
    breakpoints = {CHILDREN: [line_of(CHILDREN, "child")]}
    children = [client.attach_child(announced, breakpoints=breakpoints)]
    if kind == "spawn":  # multiprocessing starts its resource tracker too, a child like any
        children.append(client.attach_child(breakpoints=breakpoints))
    wait_for(lambda: any(child.events("stopped") for child in children))
    (child,) = (child for child in children if child.events("stopped"))
    offered = [item["filter"] for item in child.capabilities["exceptionBreakpointFilters"]]
    assert "zentracer.nonfinite" in offered, "the child's session has our overrides"
    stop = child.until_stopped()
    assert stop.line == line_of(CHILDREN, "child")
    child.resume(stop.thread_id)
    child.wait_event("terminated")
    assert client.until_exit() == 0
    assert "parent done" in client.output("stdout")


LOOPS = """
import multiprocessing, subprocess, sys

def work():
    import numpy
    values = numpy.zeros(3)
    for i in range(4):
        values[1] = i
        found = i  # @found

if __name__ == "__main__":
    kind = sys.argv[1]
    if kind == "work":
        work()
    elif kind == "subprocess":
        subprocess.run([sys.executable, __file__, "work"], check=True)
    else:
        child = multiprocessing.get_context(kind).Process(target=work)
        child.start()
        child.join()
"""


@pytest.mark.parametrize("kind", KINDS)
def test_a_condition_in_a_child_may_be_an_array(client, write_program, kind):
    """A child that is started as a program runs pydevd as a script, beside a second copy of it."""
    program = write_program(LOOPS)
    client.launch(program=program, args=[kind])
    line = {"line": line_of(program, "found"), "condition": "values > 1.5"}
    count = 2 if kind == "spawn" else 1  # with multiprocessing's resource tracker
    children = [client.attach_child(breakpoints={program: [line]}) for _ in range(count)]
    wait_for(lambda: any(child.events("stopped") for child in children))
    (child,) = (child for child in children if child.events("stopped"))
    for expected in ("2", "3"):
        stop = child.until_stopped()
        assert child.evaluate("i", stop.frame_id, "repl")["result"] == expected
        child.resume(stop.thread_id)
    assert client.until_exit() == 0


def test_the_port_of_debugpy_stays_unknown(client):
    client.launch(program=CHILDREN, args=["fork"])
    child = client.wait_child()
    sockets = client.events("debugpySockets")[-1]["sockets"]
    public = [(item["host"], item["port"]) for item in sockets if not item["internal"]]
    assert public == [child.address]
    client.attach_child(child).close()
    client.until_exit()


@pytest.mark.parametrize("kind", KINDS)
def test_an_editor_that_ignores_children_does_not_block_them(start_client, kind):
    client = start_client(start_debugging=False)
    client.launch(program=CHILDREN, args=[kind, "3"])
    assert client.until_exit() == 0
    assert client.output("stdout").count("child") == 3


def test_an_editor_that_refuses_children_does_not_block_them(start_client):
    client = start_client()
    client.refuses = ("startDebugging",)
    client.launch(program=CHILDREN, args=["fork", "3"])
    assert client.until_exit() == 0


def test_a_late_editor_gets_the_child(start_client, write_program, tmp_path):
    go = tmp_path / "go"
    program = write_program(
        f"""
        import multiprocessing, os, time

        def work():
            print("child runs", flush=True)
            while not os.path.exists({str(go)!r}):
                time.sleep(0.01)
            done = 1  # @done

        if __name__ == "__main__":
            child = multiprocessing.get_context("fork").Process(target=work)
            child.start()
            child.join()
        """
    )
    client = start_client(start_debugging=False)
    client.launch(program=program)
    client.wait_event("output", lambda body: "child runs" in body["output"])
    child = client.attach_child(breakpoints={program: [line_of(program, "done")]})
    with child:
        go.touch()
        stop = child.until_stopped()
        assert stop.line == line_of(program, "done")
        child.resume(stop.thread_id)
        child.wait_event("terminated")
    assert client.until_exit() == 0


def test_without_subprocesses_nothing_is_announced(client):
    client.launch(program=CHILDREN, args=["subprocess"], subProcess=False)
    assert client.until_exit() == 0
    assert not [m for m in client.connection.log if m.get("command") == "startDebugging"]


def test_grandchildren(client, write_program):
    program = write_program(
        """
        import multiprocessing

        def inner():
            print("inner", flush=True)  # @inner

        def outer():
            child = multiprocessing.get_context("fork").Process(target=inner)
            child.start()
            child.join()

        if __name__ == "__main__":
            child = multiprocessing.get_context("fork").Process(target=outer)
            child.start()
            child.join()
        """
    )
    client.launch(program=program)
    with client.attach_child() as child:
        with child.attach_child(breakpoints={program: [line_of(program, "inner")]}) as inner:
            stop = inner.until_stopped()
            assert stop.frames[0]["name"] == "inner"
            inner.resume(stop.thread_id)
            inner.wait_event("terminated")
        child.wait_event("terminated")
    assert client.until_exit() == 0


def test_closing_a_child_session_leaves_the_rest_alone(client):
    client.launch(program=CHILDREN, args=["fork"])
    child = client.attach_child(breakpoints={CHILDREN: [line_of(CHILDREN, "child")]})
    child.until_stopped()
    child.connection.close()
    assert client.until_exit() == 0
    assert "child 100" in client.output("stdout")


def test_terminate_ends_the_children_too(client):
    client.launch(program=CHILDREN, args=["fork"])
    child = client.attach_child(breakpoints={CHILDREN: [line_of(CHILDREN, "child")]})
    child.until_stopped()
    client.request("terminate")
    child.wait_event("terminated")
    client.wait_event("terminated")
