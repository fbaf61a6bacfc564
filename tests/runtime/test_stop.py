"""Stops of ours behave as any stop: line, stack, stepping, evaluate, threads, the end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from dap_client import Client, Stop, line_of
from support import environment

Start = Callable[..., Client]


@pytest.fixture
def debug(start_client: Start, programs: Path, interpreter: str) -> Callable[..., Client]:
    """Launch a program of tests/programs on each interpreter under our runtime."""

    def launch(program: str | Path, **options: Any) -> Client:
        client = start_client("debugpy")
        client.launch(
            program=programs / program,
            python=[interpreter],
            env=environment(),
            **options,
        )
        return client

    return launch


@pytest.fixture
def inside(programs: Path) -> Callable[[str], int]:
    return lambda marker: line_of(programs / "stop_inside.py", marker)


def skip_to(client: Client, text: str) -> Stop:
    """Continue until the stop with the message ``text``."""
    stop = client.until_stopped()
    while stop.body["description"] != text:
        client.resume(stop.thread_id)
        stop = client.until_stopped()
    return stop


def names(stop: Stop) -> list[str]:
    return [frame["name"] for frame in stop.frames]


def test_the_stop_is_on_the_line_with_the_users_frames_only(debug: Any, inside: Any) -> None:
    client = debug("stop_inside.py")
    stop = client.until_stopped()
    assert (stop.body["reason"], stop.body["description"]) == ("exception", "direct")
    assert stop.body["text"] == "NaN or Inf"
    assert stop.line == inside("direct")
    assert names(stop) == ["work", "main", "<module>"]
    assert sorted(client.locals(stop.frame_id)) == ["before", "value"]
    order = [m["event"] for m in client.connection.log if m["type"] == "event"]
    assert order.index("zentracer/breakpoint_hit") < order.index("stopped")
    (hit,) = client.events("zentracer/breakpoint_hit")
    assert (hit["text"], hit["breakpoint_ids"]) == ("direct", [7])


def test_exception_info_shows_only_the_users_stack(debug: Any, inside: Any) -> None:
    client = debug("stop_inside.py", justMyCode=False)
    stop = client.until_stopped()
    info = client.exception_info(stop.thread_id)
    assert (info["exceptionId"], info["description"]) == ("NaN or Inf", "direct")
    trace = info["details"]["stackTrace"]
    assert f"line {inside('direct')}, in work" in trace
    assert "suspend.py" not in trace and "control/stop.py" not in trace


def test_columns_mark_the_operation(debug: Any, programs: Path, interpreter: str) -> None:
    if "3.9" in interpreter or "3.10" in interpreter:
        pytest.skip("Python keeps columns from 3.11 on")
    client = debug("stop_inside.py")
    frame = client.until_stopped().frames[0]
    line = (programs / "stop_inside.py").read_text().splitlines()[frame["line"] - 1]
    assert line[frame["column"] - 1 : frame["endColumn"] - 1].startswith("stop(hit(")


@pytest.mark.parametrize("just_my_code", [True, False])
@pytest.mark.parametrize(
    ("text", "command", "function", "marker"),
    [
        ("direct", "next", "work", "direct-next"),
        ("direct", "stepOut", "main", "call-work"),
        ("direct", "stepIn", "work", "direct-next"),
        ("from C", "next", "in_c", "in-c-next"),
        ("from C", "stepIn", "in_c", "in-c-next"),
        ("from C", "stepOut", "main", "after-work"),
        ("then call", "next", "then_call", "then-call-next"),
        ("then call", "stepIn", "callee", "callee"),
    ],
)
def test_steps(
    debug: Any, inside: Any, text: str, command: str, function: str, marker: str, just_my_code: bool
) -> None:
    client = debug("stop_inside.py", justMyCode=just_my_code)
    stop = skip_to(client, text)
    after = client.step(command, stop)
    assert (names(after)[0], after.line) == (function, inside(marker))
    assert after.body["reason"] == "step"
    assert not client.output("important")


def test_evaluate_and_set_variable(debug: Any) -> None:
    client = debug("stop_inside.py")
    stop = client.until_stopped()
    assert client.evaluate("before + 1", stop.frame_id)["result"] == "41"
    scope = client.request("scopes", frameId=stop.frame_id)["scopes"][0]["variablesReference"]
    client.request("setVariable", variablesReference=scope, name="before", value="100")
    after = client.step("next", stop)
    # The operand had been read before the stop, the name is new from here on.
    assert client.evaluate("before", after.frame_id)["result"] == "100"


def test_continue_runs_to_the_end(debug: Any) -> None:
    client = debug("stop_inside.py")
    for text in ("direct", "from C", "then call"):
        stop = client.until_stopped()
        assert stop.body["description"] == text
        client.resume(stop.thread_id)
    assert client.until_exit() == 0
    assert "finished" in client.output("stdout")


def test_step_in_to_a_line_whose_operation_calls_our_hook(debug: Any, programs: Path) -> None:
    program = programs / "stop_stepping.py"
    hook = line_of(program, "hook")
    client = debug(program.name, justMyCode=False, breakpoints={program: [hook]})
    stop = client.until_stopped()
    assert stop.line == hook
    after = client.step("stepIn", stop)
    assert (names(after)[0], after.line) == ("<module>", line_of(program, "hook-next"))


def test_an_evaluation_at_a_stop_does_not_stop_again(debug: Any) -> None:
    client = debug("stop_inside.py")
    stop = client.until_stopped()
    result = client.evaluate("stop(hit('nested'), sys._getframe())", stop.frame_id, context="repl")
    assert result["result"] == "False"
    assert len(client.events("zentracer/breakpoint_hit")) == 1


def test_stops_on_two_threads_are_both_seen(debug: Any, programs: Path) -> None:
    program = programs / "stop_threads.py"
    client = debug(program.name)
    seen = []
    for _ in range(2):
        stop = client.until_stopped()
        seen.append(stop.body["description"])
        assert stop.line == line_of(program, "stop")
        assert client.evaluate("name", stop.frame_id)["result"] == repr(stop.body["description"])
        client.resume(stop.thread_id)
    assert sorted(seen) == ["one", "two"]
    assert client.until_exit() == 0


def test_a_stop_while_another_thread_is_at_a_breakpoint_comes_afterwards(
    debug: Any, programs: Path
) -> None:
    program = programs / "stop_beside_breakpoint.py"
    client = debug(program.name, breakpoints={program: [line_of(program, "breakpoint")]})
    first = client.until_stopped()
    assert first.body["reason"] == "breakpoint"
    client.evaluate("noticed.wait()", first.frame_id)
    client.resume(first.thread_id)
    second = client.until_stopped()
    assert (second.body["reason"], second.body["description"]) == ("exception", "found")
    client.resume(second.thread_id)
    assert client.until_exit() == 0


def test_a_thread_that_pydevd_does_not_know(debug: Any, programs: Path) -> None:
    program = programs / "stop_native_thread.py"
    client = debug(program.name)
    stop = client.until_stopped()
    assert (names(stop)[0], stop.line) == ("native", line_of(program, "stop"))
    after = client.step("next", stop)
    assert (names(after)[0], after.line) == ("native", line_of(program, "next"))
    client.resume(after.thread_id)
    assert client.until_exit() == 0


def test_a_program_that_takes_settrace_for_itself(debug: Any, programs: Path) -> None:
    program = programs / "stop_settrace.py"
    client = debug(program.name)
    stop = client.until_stopped()
    assert stop.line == line_of(program, "stop")
    after = client.step("next", stop)
    assert after.line == line_of(program, "next")
    client.resume(after.thread_id)
    assert client.until_exit() == 0
