"""Conditions and log messages that do not end: said on their breakpoint, ended by pause."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import PROGRAMS, find_interpreter
from dap_client import Client, line_of
from test_ending import wait_for

from zentracer_dap.features.holding import HELD

PROGRAM = PROGRAMS / "long_conditions.py"
MODULE = "__import__('zentracer.control.pydevd.turns', fromlist=['SECONDS'])"
QUICK = {"SECONDS": 0.1, "PAUSE_PATIENCE": 0.1, "AGAIN": 0.01}
"""Seconds, in place of the ones that people get."""
VERSIONS = [version for version in ("3.9", "3.11", "3.13") if find_interpreter(version)]
"""Both ways of tracing, and asynchronous exceptions before and after Python 3.11."""

Start = Callable[..., Client]


@pytest.fixture(params=VERSIONS)
def running(request: Any, start_client: Start) -> Start:
    """Start the program, which runs into the line with this breakpoint."""

    def start(*args: str, **breakpoint_: Any) -> Client:
        client = start_client()
        client.launch(
            program=PROGRAM,
            args=list(args),
            python=[find_interpreter(request.param)],
            breakpoints={PROGRAM: [line_of(PROGRAM, "here")]},
            exceptions=[],
        )
        stop = client.until_stopped()
        client.evaluate(f"{MODULE}.__dict__.update({QUICK})", stop.frame_id)
        line = {"line": line_of(PROGRAM, "line"), **breakpoint_}
        client.set_breakpoints(PROGRAM, [line])
        client.resume(stop.thread_id)
        return client

    return start


def told(client: Client, part: str) -> str:
    """What is said on the breakpoint."""
    body = client.wait_event(
        "breakpoint", lambda body: part in body["breakpoint"].get("message", "")
    )
    return body["breakpoint"]["message"]


@pytest.mark.parametrize(
    ("where", "breakpoint_", "what"),
    [
        ("main", {"condition": "spin()"}, "The condition 'spin()'"),
        ("main", {"condition": "GATE.acquire()"}, "The condition 'GATE.acquire()'"),
        ("main", {"logMessage": "i is {spin()}"}, "The log message 'i is {spin()}'"),
        ("thread", {"condition": "zt and stubborn()"}, "The condition 'zt and stubborn()'"),
    ],
)
def test_it_is_said_and_pause_stops_its_thread(
    running: Start, where: str, breakpoint_: dict[str, str], what: str
) -> None:
    client = running(where, **breakpoint_)
    thread = {"main": "MainThread", "thread": "worker"}[where]
    line = line_of(PROGRAM, "line")
    assert told(client, "has been running") == (
        f"{what} has been running for more than 0.2 s at one hit, and thread {thread} waits for it "
        f"at long_conditions.py:{line}. It goes on until it ends; pause interrupts it."
    )
    client.request("pause", threadId=1)
    assert told(client, "was interrupted").startswith(f"{what} was interrupted")
    assert client.until_stopped().body["reason"] == "pause"
    client.set_breakpoints(PROGRAM, [])
    threads = {each["name"]: each["id"] for each in client.request("threads")["threads"]}
    frames = client.request("stackTrace", threadId=threads[thread])["stackFrames"]
    assert frames[0]["name"] == "work"
    client.resume()
    assert client.until_exit() == 0
    assert client.output("stdout").split() == ["total", "3", "ended"]


def test_a_rank_that_is_held_for_another_one_ends_its_condition(
    running: Start, tmp_path: Path
) -> None:
    client = running(condition=f"until({str(tmp_path / 'go')!r})")
    client.wait_event("output", lambda body: "waits" in body["output"])
    client.request("pause", threadId=1, **{HELD: True})
    told(client, "has been running")  # longer than a pause would let it
    (tmp_path / "go").touch()
    assert client.until_stopped().body["reason"] == "pause"
    said = [each["breakpoint"].get("message", "") for each in client.events("breakpoint")]
    assert not any("was interrupted" in message for message in said)


@pytest.mark.parametrize("condition", ["spin()", "GATE.acquire()"])
def test_the_program_goes_on_when_the_debugger_leaves(
    running: Start, tmp_path: Path, condition: str
) -> None:
    ended = tmp_path / "ended.txt"
    client = running(str(ended), condition=condition)
    told(client, "has been running")
    client.request("disconnect", terminateDebuggee=False)
    assert client.wait_adapter() == 0
    wait_for(ended.exists)


@pytest.mark.parametrize("command", ["disconnect", "terminate"])
def test_the_session_ends_at_once(running: Start, command: str) -> None:
    client = running(condition="GATE.acquire()")
    told(client, "has been running")
    client.request(command, **({"terminateDebuggee": True} if command == "disconnect" else {}))
    if command == "terminate":
        client.wait_event("terminated")
        client.request("disconnect")
    assert client.wait_adapter() == 0
