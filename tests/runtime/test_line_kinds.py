"""Conditional breakpoints stop where and when debugpy's do: the contract of line_events.py."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import PROGRAMS, find_interpreter

sys.path.insert(0, str(Path(__file__).parent))

from dap_client import Client, Stop, line_of
from support import environment

KINDS = PROGRAMS / "lines" / "kinds.py"


@pytest.fixture(params=("3.11", "3.12", "3.13"))
def python(request: pytest.FixtureRequest) -> str:
    """Of both ways of tracing: up to 3.11, and by sys.monitoring."""
    path = find_interpreter(request.param)
    if path is None:
        pytest.skip(f"no Python {request.param} here")
    return path


Start = Callable[..., Client]


@pytest.fixture
def start(start_client: Callable[..., Client], python: str) -> Start:
    def launch(program: Any, *breakpoints: dict[str, Any], **options: Any) -> Client:
        client = start_client("debugpy")
        client.launch(
            program=program,
            python=[python],
            env=environment(),
            breakpoints={program: list(breakpoints)},
            **options,
        )
        return client

    return launch


def at(program: Any, mark: str, **options: Any) -> dict[str, Any]:
    return {"line": line_of(program, mark), **options}


def value(client: Client, stop: Stop, name: str) -> str:
    return client.evaluate(name, stop.frame_id, "repl")["result"]


def test_every_kind_of_line(start: Start, python: str) -> None:
    # Python 3.13 itself tells nobody that a loop on one line has come round.
    one_line = [] if "3.13" in python else ["2"]
    conditions = {
        "recursion": ("n", "n in (4, 1)", ["4", "1"]),
        "generator": ("i", "i == 3", ["3"]),
        "coroutine": ("i", "i > 2", ["3", "4"]),
        "one-line": ("n", "n == 2", one_line),
        # Python 3.12 jumps back to this line from a copy of the condition behind it.
        "condition-again": ("n", "n", ["3", "2", "1"]),
        "raises": ("i", "i % 4 == 0", ["0", "4"]),
        "thread": ("i", "i == 4", ["4"]),
        "inner": ("i", "i == 2", ["2"]),
    }
    client = start(KINDS, *[at(KINDS, mark, condition=c[1]) for mark, c in conditions.items()])
    for mark, (name, _, expected) in conditions.items():
        for wanted in expected:
            stop = client.until_stopped()
            assert (stop.line, value(client, stop, name)) == (line_of(KINDS, mark), wanted)
            assert stop.body["reason"] == "breakpoint" and len(stop.body["hitBreakpointIds"]) == 1
            client.resume(stop.thread_id)
    assert client.until_exit() == 0
    assert client.events("zentracer/notice") == []


def test_steps_from_a_condition_that_holds(start: Start) -> None:
    client = start(KINDS, at(KINDS, "steps", condition="i == 1"))
    stop = client.until_stopped()
    stop = client.step("stepIn", stop)
    assert stop.line == line_of(KINDS, "inner")
    stop = client.step("stepOut", stop)
    assert stop.line == line_of(KINDS, "steps")
    stop = client.step("next", stop)
    assert stop.line == line_of(KINDS, "after")
    client.set_breakpoints(KINDS, [at(KINDS, "steps", condition="i == 3"), line_of(KINDS, "end")])
    client.resume(stop.thread_id)
    stop = client.until_stopped()
    assert (stop.line, value(client, stop, "i")) == (line_of(KINDS, "steps"), "3")
    stop = client.step("next", stop)
    assert (stop.line, stop.body["reason"]) == (line_of(KINDS, "after"), "step")
    client.set_breakpoints(KINDS, [line_of(KINDS, "end")])
    client.resume(stop.thread_id)
    stop = client.until_stopped()
    assert stop.line == line_of(KINDS, "end")
    client.resume(stop.thread_id)
    assert client.until_exit() == 0


ENDLESS = """
import debugpy

def spin():
    count = 0
    while not done:
        count += 1  # @spin
        if count == 99:
            print("ready", flush=True)
    return count

done = False
spin()  # @spins
debugpy.breakpoint()
last = 1  # @own
print("finished")
"""


def test_what_changes_while_the_program_runs(start: Start, write_program: Any) -> None:
    program = write_program(ENDLESS)
    client = start(program, at(program, "spin", condition="count < 0"))
    client.wait_event("output", lambda body: "ready" in body["output"])
    client.request("pause", threadId=1)
    stop = client.until_stopped()
    assert stop.body["reason"] == "pause" and stop.frames[0]["name"] == "spin"
    client.resume(stop.thread_id)
    client.set_breakpoints(program, [at(program, "spin", condition="count % 7 == 3")])
    stop = client.until_stopped()
    assert stop.line == line_of(program, "spin") and stop.body["reason"] == "breakpoint"
    assert int(value(client, stop, "count")) % 7 == 3
    client.set_breakpoints(program, [])
    value(client, stop, "globals().update(done=True)")
    client.resume(stop.thread_id)
    stop = client.until_stopped()
    assert stop.line == line_of(program, "own")
    client.resume(stop.thread_id)
    assert client.until_exit() == 0


LEAVES = """
import contextlib
import io
import sys

def work(n):
    return n + 1  # @work

holder = sys.modules["_pydevd_bundle.pydevd_constants"].GlobalDebuggerHolder
said = io.StringIO()
work(1)
with contextlib.redirect_stderr(said):
    debugger, holder.global_dbg = holder.global_dbg, None
    work(3)
holder.global_dbg = debugger
print("end")  # @end
"""


def test_a_program_that_its_debugger_has_left_runs_in_silence(
    start: Start, write_program: Any
) -> None:
    program = write_program(LEAVES)
    client = start(program, at(program, "work", condition="n == 2"), at(program, "end"))
    stop = client.until_stopped()
    assert (stop.line, value(client, stop, "said.getvalue()")) == (line_of(program, "end"), "''")
