"""``restart``: the program starts anew, the configuration stays."""

from __future__ import annotations

import json
import socket

import pytest
from conftest import PROGRAMS
from dap_client import RequestFailed, line_of

from zentracer.wire import PROTOCOL_VERSION, codec
from zentracer.wire.messages import Hello

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


def test_an_orphan_of_the_old_program_is_not_the_new_one(client):
    client.launch(program=LOOP, breakpoints={LOOP: [line_of(LOOP, "first")]})
    frame = client.until_stopped().frame_id
    names = "{n: __import__('os').environ['ZENTRACER_' + n] for n in ('LINK', 'TOKEN')}"
    told = json.loads(client.evaluate(names, frame)["result"].replace("'", '"'))
    restart = client.send("restart")
    client.wait_event("thread", lambda body: body["reason"] == "exited")
    host, _, port = told["LINK"].rpartition(":")
    hello = Hello(
        protocol_version=PROTOCOL_VERSION, token=told["TOKEN"], pid=1, version="0", python="3"
    )
    with socket.create_connection((host, int(port))) as orphan:
        orphan.sendall(codec.encode_frame(codec.EVENT, 0, "hello", hello))
        client.finish(restart)
        frame = client.until_stopped().frame_id
        pid = int(client.evaluate("__import__('os').getpid()", frame)["result"])
        main, *_ = client.events("zentracer/processes")[-1]["processes"]
        assert (main["pid"], main["name"]) == (pid, LOOP.name)
