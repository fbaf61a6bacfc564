"""Function breakpoints on Python functions, by qualified name."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import find_interpreter
from dap_client import Client, line_of

PROGRAM = Path(__file__).parents[1] / "programs" / "named_functions.py"
MARKS = (
    "base build scale decoder other inner_class inner wrapped hidden coroutine generator".split()
)
NAMES = {
    "Encoder.forward": {"base"},  # it inherits
    "Base.forward": {"base"},
    "named_functions.Decoder.forward": {"decoder"},
    "forward": {"base", "decoder", "other", "inner_class"},
    "Other.Inner.forward": {"inner_class"},
    "Encoder.build": {"build"},
    "Decoder.scale": set(),
    "Encoder.scale": {"scale"},
    "outer.inner": {"inner"},
    "inner": {"inner"},
    "__main__.wrapped": {"wrapped"},
    "hidden": {"hidden"},
    "coroutine": {"coroutine"},
    "generator": {"generator"},
    "coder.forward": set(),
}


def run(client: Client, *functions: Any, **options: Any) -> tuple[list[Any], list[Any]]:
    """Run the program; return its breakpoints, then line and positions of hits of each stop."""
    client.initialize()
    answers = client.launch(program=PROGRAM, functions=functions, **options)
    breakpoints = answers["functions"]["breakpoints"]
    position = {one["id"]: number for number, one in enumerate(breakpoints)}
    found: list[Any] = []
    while client.until_exit_or_stop() is None:
        stop = client.events("stopped")[-1]
        assert stop["reason"] == "function breakpoint"
        top = client.request("stackTrace", threadId=stop["threadId"])["stackFrames"][0]
        hits = [position[number] for number in stop["hitBreakpointIds"]]
        found.append((Path(top["source"]["path"]).name, top["line"], hits))
        client.resume(stop["threadId"])
    return breakpoints, found


def mark_at(line: int) -> str:
    """Return the mark of the function that begins on a line."""
    marks = {line_of(PROGRAM, mark): mark for mark in MARKS}
    return marks[min(marked for marked in marks if marked >= line)]


@pytest.mark.parametrize("version", ["3.9", "3.11", "3.12", "3.13"])
def test_names(client: Client, version: str) -> None:
    interpreter = find_interpreter(version)
    if interpreter is None:
        pytest.skip(f"no Python {version}")
    once = [{"name": name, "hitCondition": "== 1"} for name in NAMES if name != "forward"]
    second = {"name": "forward", "condition": "x == 1"}
    wanted = [second, *once]
    breakpoints, stops = run(client, *wanted, python=interpreter)
    hit: dict[str, set[str]] = {one["name"]: set() for one in wanted}
    for _, line, numbers in stops:
        for number in numbers:
            hit[wanted[number]["name"]].add(mark_at(line))
    seen = (
        NAMES if version in ("3.12", "3.13") else {**NAMES, "coroutine": set(), "generator": set()}
    )
    assert hit == seen
    assert not any(one["verified"] for one in breakpoints)  # the program had not begun
    later = {
        event["breakpoint"]["id"]: event["breakpoint"] for event in client.events("breakpoint")
    }
    for one, name in zip(breakpoints, wanted):
        if seen[name["name"]]:
            assert later[one["id"]]["verified"]
        elif not NAMES[name["name"]]:
            assert one["id"] not in later


def test_a_stop_says_all_that_it_is_for(client: Client) -> None:
    wanted = [
        {"name": "Other.forward", "condition": "x == 2"},
        {"name": "forward", "condition": "type(self).__name__ == 'Other' and x > 1"},
        {"name": "Other.forward", "condition": "x == 2", "hitCondition": "2"},
    ]
    _, stops = run(client, *wanted)
    assert [(mark_at(line), numbers) for _, line, numbers in stops] == [
        ("other", [0, 1]),
        ("other", [1]),
    ]


def test_a_mistake_in_a_condition_is_said_on_its_breakpoint(client: Client) -> None:
    breakpoints, stops = run(client, {"name": "outer", "condition": "y > 1"}, "outer.inner")
    assert [numbers for _, _, numbers in stops] == [[1]] * 4
    said = client.wait_event(
        "breakpoint", lambda body: "NameError" in body["breakpoint"].get("message", "")
    )
    assert said["breakpoint"]["id"] == breakpoints[0]["id"]


@pytest.mark.parametrize("version", ["3.11", "3.13"])
def test_a_library_is_named_in_full(client: Client, version: str) -> None:
    interpreter = find_interpreter(version)
    if interpreter is None:
        pytest.skip(f"no Python {version}")
    breakpoints, stops = run(
        client,
        {"name": "json.decoder.JSONDecoder.decode", "hitCondition": "3"},
        "JSONDecoder.raw_decode",
        python=interpreter,
        justMyCode=True,
    )
    assert breakpoints[0]["verified"]
    assert not breakpoints[1]["verified"]
    assert [(name, numbers) for name, _, numbers in stops] == [("decoder.py", [0])]


def test_what_waits_becomes_verified_while_the_program_stands(client: Client) -> None:
    client.initialize()
    answers = client.launch(program=PROGRAM, functions=["main", "Encoder.forward", "generator"])
    _, encoder, generator = answers["functions"]["breakpoints"]
    client.until_stopped()  # not called yet
    for one, verified in ((encoder, True), (generator, sys.version_info >= (3, 12))):
        changed = client.wait_event(
            "breakpoint", lambda body, number=one["id"]: body["breakpoint"]["id"] == number
        )
        assert changed["breakpoint"]["verified"] is verified
        said = changed["breakpoint"].get("message") or ""
        assert verified or "set a breakpoint on its first line" in said
