"""``restart``: the program starts anew, the configuration stays."""

from __future__ import annotations

import pytest
from conftest import PROGRAMS
from dap_client import RequestFailed, line_of

LOOP = PROGRAMS / "debug_loop.py"


def test_breakpoints_and_their_ids_survive(client):
    first, double = line_of(LOOP, "first"), line_of(LOOP, "double")
    client.launch(program=LOOP, breakpoints={LOOP: [first, double]}, exceptions=["raised"])
    stop = client.until_stopped()
    client.set_breakpoints(LOOP, [])
    known = [item["id"] for item in client.set_breakpoints(LOOP, [first, double])]
    client.request("restart")
    gone = client.wait_event("thread", lambda body: body["reason"] == "exited")
    assert gone["threadId"] == stop.thread_id
    stop = client.until_stopped()
    assert (stop.line, stop.body["hitBreakpointIds"]) == (first, known[:1])
    client.resume()
    stop = client.until_stopped()
    assert (stop.line, stop.body["hitBreakpointIds"]) == (double, known[1:])
    (new,) = client.set_breakpoints(LOOP, [line_of(LOOP, "print")])
    assert new["id"] not in known
    client.resume()
    assert client.until_stopped().body["hitBreakpointIds"] == [new["id"]]
    assert len(client.events("terminated")) == len(client.events("exited")) == 0
    client.set_breakpoints(LOOP, [])
    client.resume()
    assert client.until_exit() == 0
    client.request("disconnect")
    assert client.wait_adapter() == 0


def test_new_arguments(client):
    line = line_of(LOOP, "first")
    client.launch(program=LOOP, breakpoints={LOOP: [line]})
    client.until_stopped()
    arguments = {"program": str(LOOP), "console": "internalConsole", "args": ["exit3"]}
    client.request("restart", arguments={**arguments, "request": "launch"})
    client.until_stopped()
    client.resume()
    assert client.until_exit() == 3


def test_a_mistake_is_said_and_the_old_program_stays(client):
    line = line_of(LOOP, "first")
    client.launch(program=LOOP, breakpoints={LOOP: [line]})
    stop = client.until_stopped()
    with pytest.raises(RequestFailed, match="does not exist"):
        client.request("restart", arguments={"program": "/nowhere.py"})
    assert client.evaluate("1 + 1", stop.frame_id)["result"] == "2"


def test_nothing_to_restart(client):
    client.initialize()
    with pytest.raises(RequestFailed, match="cannot be restarted"):
        client.request("restart")
