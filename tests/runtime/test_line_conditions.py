"""Conditions of line breakpoints as the protocol says: the contract of conditions.py."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from dap_client import Client, line_of
from support import environment

PROGRAM = """
class Tensor:
    def __bool__(self):
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")

ambiguous = Tensor()
for i in range(10):
    last = i  # @loop
print("finished", last)  # @end
"""


@pytest.fixture
def seen(
    start_client: Callable[..., Client], write_program: Any, interpreter: str
) -> Callable[..., Any]:
    """Run with one breakpoint in the loop; returns the values of i at its stops, and the client."""

    def run(source: str = PROGRAM, **breakpoint_: Any) -> tuple[list[str], Client]:
        program = write_program(source)
        client = start_client("debugpy")
        lines = [
            {"line": line_of(program, "loop"), **breakpoint_},
            {"line": line_of(program, "end")},
        ]
        client.launch(
            program=program, python=[interpreter], env=environment(), breakpoints={program: lines}
        )
        values = []
        stop = client.until_stopped()
        while stop.line != line_of(program, "end"):
            values.append(client.evaluate("i", stop.frame_id, "repl")["result"])
            client.resume(stop.thread_id)
            stop = client.until_stopped()
        client.resume(stop.thread_id)
        assert client.until_exit() == 0
        assert "finished" in client.output("stdout")
        return values, client

    return run


def test_a_condition(seen: Any) -> None:
    assert seen(condition="i % 4 == 1")[0] == ["1", "5", "9"]


@pytest.mark.parametrize(
    ("condition", "hits", "expected"),
    [
        (None, "3", ["2"]),
        (None, ">= 8", ["7", "8", "9"]),
        ("i > 4", "2", ["6"]),
        ("i > 4", "%2", ["6", "8"]),
        ("i > 100", "1", []),
    ],
)
def test_hits_count_only_when_the_condition_holds(
    seen: Any, condition: str | None, hits: str, expected: list[str]
) -> None:
    options = {"condition": condition} if condition else {}
    assert seen(hitCondition=hits, **options)[0] == expected


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("missing > 1", "NameError: name 'missing' is not defined"),
        ("i >", "SyntaxError"),
        ("ambiguous", "RuntimeError: Boolean value"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_mistake_is_said_once_and_harms_nothing(seen: Any, condition: str, message: str) -> None:
    values, client = seen(condition=condition)
    assert values == []
    (notice,) = client.events("zentracer/notice")
    assert message in notice["message"] and condition in notice["message"]
    assert isinstance(notice["breakpoint_id"], int)


def test_tensors_hold_with_any_true_element(
    start_client: Callable[..., Client], write_program: Any
) -> None:
    pytest.importorskip("torch")
    program = write_program(
        """
        import torch
        x = torch.zeros(3)
        for i in range(4):
            x[1] = i  # @change
            pass  # @loop
        print("finished")  # @end
        """
    )
    client = start_client("debugpy")
    loop = {"line": line_of(program, "loop"), "condition": "x > 1.5"}
    client.launch(program=program, env=environment(), breakpoints={program: [loop]})
    for expected in ("2", "3"):
        stop = client.until_stopped()
        assert client.evaluate("i", stop.frame_id, "repl")["result"] == expected
        client.resume(stop.thread_id)
    assert client.until_exit() == 0


def test_a_log_point_with_a_condition(
    start_client: Callable[..., Client], write_program: Any, interpreter: str
) -> None:
    program = write_program(PROGRAM)
    client = start_client("debugpy")
    log = {"line": line_of(program, "loop"), "condition": "i > 7", "logMessage": "i is {i}"}
    client.launch(
        program=program, python=[interpreter], env=environment(), breakpoints={program: [log]}
    )
    assert client.until_exit() == 0
    # Each comes in an event of its own; the program's output may come between the two.
    said = [event["output"].strip() for event in client.events("output")]
    assert [text for text in said if text.startswith("i is")] == ["i is 8", "i is 9"]
