"""Log points, hit conditions and ``zt`` through a debugger: logpoints.py and names.py."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import find_interpreter

sys.path.insert(0, str(Path(__file__).parent))

from dap_client import Client, RequestFailed, line_of
from support import environment

PROGRAM = """
import time

def turn(i):
    return i  # @turn

values = [3, 4.5]
for i in range({turns}):
    turn(i)  # @loop
print("finished")  # @end
"""


@pytest.fixture(params=("3.9", "3.11", "3.12", "3.13"))
def python(request: pytest.FixtureRequest) -> str:
    path = find_interpreter(request.param)
    if path is None:
        pytest.skip(f"no Python {request.param} here")
    return path


@pytest.fixture
def start(start_client: Callable[..., Client], write_program: Any, python: str) -> Any:
    def launch(turns: int = 10, stop_at_end: bool = False, **breakpoint_: Any) -> Client:
        program = write_program(PROGRAM.format(turns=turns))
        lines = [{"line": line_of(program, "loop"), **breakpoint_}]
        if stop_at_end:
            lines.append({"line": line_of(program, "end")})
        client = start_client("debugpy")
        told = client.launch(
            program=program, python=[python], env=environment(), breakpoints={program: lines}
        )
        client.answers = told["breakpoints"][program]
        return client

    return launch


def said(client: Client) -> list[str]:
    """Each comes in an event of its own; the program's output may come between the two."""
    assert client.until_exit() == 0
    assert "finished" in client.output("stdout")
    outputs = [each for each in client.events("output") if each.get("category") != "telemetry"]
    texts = [each["output"].strip() for each in outputs]
    return [text for text in texts if text and text != "finished"]


@pytest.mark.parametrize(
    ("hits", "expected"),
    [
        ("every 4 hits", ["0", "4", "8"]),
        ("every 100 s", ["0"]),
        ("% 5", ["4", "9"]),
        (">= 9", ["8", "9"]),
        ("every 5 steps", ["0", "5"]),
    ],
)
def test_rate_limits(start: Any, hits: str, expected: list[str]) -> None:
    client = start(logMessage="{i}", hitCondition=hits)
    assert said(client) == expected
    notices = [notice["message"] for notice in client.events("zentracer/notice")]
    assert len(notices) == ("steps" in hits), "without steps it is said that hits are counted"


def test_conditions_hold_before_the_message_is_made(start: Any) -> None:
    client = start(
        logMessage="{i} of {len(values)}, {missing}, {zt.max(values):.1f}",
        condition="i % 2 and zt.min(values) == 3",
        hitCondition="> 2",
    )
    bad = "<NameError: name 'missing' is not defined>"
    assert said(client) == [f"{i} of 2, {bad}, 4.5" for i in (5, 7, 9)]
    assert client.events("stopped") == []


@pytest.mark.parametrize("hits", ["every 10 stepz", "often", "every 0 hits"])
def test_a_mistyped_hit_condition_is_said_on_its_breakpoint(start: Any, hits: str) -> None:
    client = start(hitCondition=hits)
    (answer,) = client.answers
    assert answer["verified"] is False and f"'{hits}'" in answer["message"]
    assert said(client) == []
    (notice,) = client.events("zentracer/notice")
    assert f"'{hits}'" in notice["message"] and isinstance(notice["breakpoint_id"], int)


def test_a_flood_of_lines_is_bounded(start: Any) -> None:
    lines = said(start(turns=5000, logMessage="turn {i}"))
    turns = [int(line.split()[1]) for line in lines if line.startswith("turn")]
    left_out = [int(found[1].replace(",", "")) for found in map(_MORE.match, lines) if found]
    assert turns == sorted(turns) and turns[:500] == list(range(500))
    assert len(turns) + sum(left_out) == 5000


_MORE = re.compile(r"… ([\d,]+) more \(over 500 lines a second")


@pytest.mark.parametrize("context", ["watch", "hover", "repl", "clipboard", "variables"])
def test_zt_is_there_in_every_context(start: Any, context: str) -> None:
    client = start(condition="i == 3 and zt.max(values) > 4")
    stop = client.until_stopped()

    def value(expression: str) -> str:
        return client.evaluate(expression, stop.frame_id, context)["result"]

    assert value("zt.max(values)") == "4.5"
    assert value("[zt.min([v, 4]) for v in values]") == "[3.0, 4.0]"
    assert "'zt'" not in value("[n for n in (*globals(), *dir()) if n == 'zt']")
    assert value("'zt' in vars(__import__('builtins'))") == "False"
    client.set_breakpoints(stop.path, [])
    client.resume(stop.thread_id)
    assert client.until_exit() == 0


def test_completion_of_zt(start: Any) -> None:
    client = start(condition="i == 3")
    stop = client.until_stopped()
    ask = {"frameId": stop.frame_id}
    (norm,) = client.request("completions", text="zt.no", column=6, **ask)["targets"]
    assert norm["label"] == "norm" and norm["detail"] == "Euclidean norm of x."
    names = [
        t["label"] for t in client.request("completions", text="z", column=2, **ask)["targets"]
    ]
    assert "zt" in names and "zip" in names
    client.evaluate("zt = [1]", stop.frame_id, "repl")
    members = client.request("completions", text="zt.", column=4, **ask)["targets"]
    assert "append" in [member["label"] for member in members], "the user's own variable wins"
    assert client.evaluate("zt", stop.frame_id)["result"].startswith("[1]")


def test_a_statement_in_the_console_may_use_zt(start: Any) -> None:
    client = start(condition="i == 3")
    stop = client.until_stopped()
    client.evaluate("best = zt.max(values)", stop.frame_id, "repl")
    assert client.evaluate("best", stop.frame_id, "repl")["result"] == "4.5"
    with pytest.raises(RequestFailed, match=r"zt\.norm takes a tensor, an array"):
        client.evaluate("zt.norm('a')", stop.frame_id)
