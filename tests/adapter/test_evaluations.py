"""Evaluations that wait or take long: answered, interrupted or cancelled, and never a hang."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from conftest import PROGRAMS, find_interpreter
from dap_client import Client, RequestFailed, Stop, line_of

PROGRAM = PROGRAMS / "evaluations.py"
MODULE = "__import__('zentracer.control.pydevd.evaluations', fromlist=['LIMIT'])"
QUICK = {"PATIENCE": 0.1, "LIMIT": 0.6, "GRACE": 1.0, "AGAIN": 0.01}
"""Seconds, in place of the ones that people get."""
VERSIONS = [version for version in ("3.11", "3.13") if find_interpreter(version)]
"""Both ways of tracing."""


class Session:
    """A stopped program."""

    def __init__(self, client: Client, stop: Stop) -> None:
        self.client = client
        self.stop = stop

    def value(self, expression: str, context: str = "watch") -> str:
        return self.client.evaluate(expression, self.stop.frame_id, context)["result"]

    def send(self, expression: str, context: str = "watch") -> int:
        return self.client.send(
            "evaluate", expression=expression, frameId=self.stop.frame_id, context=context
        )

    def problem(self, expression: str, context: str = "watch") -> str:
        return self.failure(self.send(expression, context))

    def failure(self, seq: int) -> str:
        with pytest.raises(RequestFailed) as failed:
            self.client.finish(seq)
        return failed.value.message

    def lazy_row(self) -> int:
        """Reference of the property, which waits for a click."""
        loader = self.client.locals(self.stop.frame_id)["loader"]
        rows = {row["name"]: row for row in self.client.variables(loader["variablesReference"])}
        return rows["next_batch"]["variablesReference"]

    def thread(self, name: str) -> int:
        threads = self.client.request("threads")["threads"]
        return next(thread["id"] for thread in threads if name in thread["name"])

    def frames(self, name: str) -> list[Any]:
        return self.client.request("stackTrace", threadId=self.thread(name))["stackFrames"]

    def events(self) -> list[tuple[str, int]]:
        """What the editor was told of threads that stop and go on."""
        return [
            (message["event"], message["body"]["threadId"])
            for message in list(self.client.connection.log)
            if message.get("event") in ("stopped", "continued")
        ]

    def until_exit(self) -> None:
        """Go on; the program must be none the wiser."""
        self.client.set_breakpoints(PROGRAM, [])
        self.client.resume(self.stop.thread_id)
        assert self.client.until_exit() == 0
        printed = self.client.output("stdout").split()
        assert printed == ["first", "batch", "second", "batch", "ended"]


@pytest.fixture(params=VERSIONS)
def stop_in(request: Any, start_client: Callable[..., Client]) -> Callable[..., Session]:
    """Stop the program, with the interpreter's own kind of tracing."""

    def start(*args: str) -> Session:
        client = start_client()
        client.launch(
            program=PROGRAM,
            args=list(args),
            python=[find_interpreter(request.param)],
            breakpoints={PROGRAM: [line_of(PROGRAM, "here")]},
            exceptions=[],
        )
        session = Session(client, client.until_stopped())
        session.value(f"{MODULE}.__dict__.update({QUICK})")
        return session

    return start


def test_what_needs_another_thread_gets_its_value_and_the_stop_stays(stop_in: Any) -> None:
    session = stop_in()
    for context in ("watch", "hover", "repl"):
        assert session.value("loader.next_batch", context) == "'batch'"
    (row,) = session.client.variables(session.lazy_row())
    assert row["value"] == "'batch'"
    told = session.client.wait_event("output", lambda body: "`loader.next_batch`" in body["output"])
    assert re.search(r"took \d+\.\d s\. .* the other threads ran for \d+\.\d s", told["output"])
    assert session.client.output().count("`loader.next_batch` took") == 1
    # The worker is held again: what wakes it brings it to its next line and no further.
    session.value("loader.asks.put('late')")
    while session.frames("worker")[0]["line"] != line_of(PROGRAM, "seen"):
        pass
    frame = session.frames("worker")[0]
    assert session.client.evaluate("item", frame["id"])["result"] == "'late'"
    assert session.events() == [("stopped", session.stop.thread_id)]
    assert session.value("loader.replies.get()") == "'late'"
    session.until_exit()


@pytest.mark.parametrize("expression", ["never()", "spin()"])
def test_what_never_ends_is_interrupted(stop_in: Any, expression: str) -> None:
    session = stop_in()
    problem = session.problem(expression)
    assert problem.startswith(f"`{expression}` had no value after 0.6 s although the other threads")
    assert "was interrupted" in problem
    assert session.value("1 + 1") == "2"
    session.until_exit()


def test_what_catches_its_interruption_is_interrupted_again(stop_in: Any) -> None:
    session = stop_in()
    assert "was interrupted" in session.problem("Stubborn(3)")
    assert session.value("1 + 1") == "2"
    session.until_exit()


def test_completions_end_too(stop_in: Any) -> None:
    session = stop_in()
    arguments = {"frameId": session.stop.frame_id, "text": "loader.blocked.", "column": 16}
    seq = session.client.send("completions", **arguments)
    assert "was interrupted" in session.failure(seq)
    session.until_exit()


def test_a_wait_in_c_code_on_another_thread_is_answered_all_the_same(stop_in: Any) -> None:
    session = stop_in("thread")
    assert "was interrupted" in session.problem("spin()")
    assert "could not be interrupted" in session.problem("GATE.acquire()")
    assert session.problem("1 + 1").startswith("The thread cannot answer: it still waits in `GATE")
    assert session.frames("MainThread") and session.frames("worker") and session.frames("stepper")
    session.client.set_breakpoints(PROGRAM, [])
    resumed = session.client.send("continue", threadId=session.stop.thread_id)
    session.client.evaluate("__import__('__main__').GATE.release()")
    session.client.finish(resumed)
    assert session.client.until_exit() == 0
    assert session.client.output("stdout").split()[-1] == "ended"


@pytest.mark.parametrize("expression", ["never()", "spin()"])
def test_cancel_interrupts_the_debug_console(stop_in: Any, expression: str) -> None:
    session = stop_in()
    seq = session.send(expression, "repl")
    # It may take as long as it likes, and whatever does not need its thread is answered.
    session.client.wait_event("output", lambda body: "has been running" in body["output"])
    assert session.frames("MainThread")[0]["line"] == session.stop.line
    assert session.client.set_breakpoints(PROGRAM, [line_of(PROGRAM, "here")])[0]["verified"]
    assert "has been computing" in session.problem("1 + 1")
    assert session.client.request("cancel", requestId=seq) == {}
    assert session.failure(seq) == "cancelled"
    assert session.value("1 + 1") == "2"
    assert session.events() == [("stopped", session.stop.thread_id)]
    session.until_exit()


def test_whatever_needs_no_thread_is_answered_while_variables_wait(stop_in: Any) -> None:
    session = stop_in()
    client = session.client
    session.value(f"{MODULE}.__dict__.update(LIMIT=1e6)")
    loader = client.locals(session.stop.frame_id)["loader"]
    rows = {row["name"]: row for row in client.variables(loader["variablesReference"])}
    seq = client.send("variables", variablesReference=rows["blocked"]["variablesReference"])
    assert session.frames("MainThread")[0]["line"] == session.stop.line
    assert client.set_breakpoints(PROGRAM, [line_of(PROGRAM, "here")])[0]["verified"]
    client.request("pause", threadId=session.stop.thread_id)
    assert not client.connection.answered(seq)
    client.request("cancel", requestId=seq)
    assert session.failure(seq) == "cancelled"
    assert session.value("1 + 1") == "2"
    session.until_exit()


def test_continue_ends_what_is_computed(stop_in: Any) -> None:
    session = stop_in()
    session.client.set_breakpoints(PROGRAM, [line_of(PROGRAM, "next")])
    seq = session.send("never()", "repl")
    session.client.resume(session.stop.thread_id)
    assert session.client.until_stopped().line == line_of(PROGRAM, "next")
    assert session.failure(seq) == "`never()` was interrupted, because the program goes on."
    assert [event for event, _ in session.events()] == ["stopped", "continued", "stopped"]
    session.until_exit()


def test_disconnect_ends_the_session_at_once(stop_in: Any) -> None:
    session = stop_in("thread")
    seq = session.send("never()", "repl")
    session.client.request("disconnect", terminateDebuggee=True)
    session.failure(seq)
    assert session.client.wait_adapter() == 0


def test_a_breakpoint_met_meanwhile_is_reported_afterwards(stop_in: Any) -> None:
    session = stop_in()
    client = session.client
    client.set_breakpoints(PROGRAM, [line_of(PROGRAM, "worker")])
    problem = session.problem("loader.next_batch")
    assert "Meanwhile worker met a breakpoint" in problem
    worker = session.frames("worker")[0]
    assert worker["line"] == line_of(PROGRAM, "worker")
    assert client.evaluate("item", worker["id"])["result"] == "'batch'"
    assert session.value("first") == "'batch'"
    assert session.events() == [("stopped", session.stop.thread_id)]

    client.resume(session.stop.thread_id)
    stop = client.until_stopped()
    assert (stop.thread_id, stop.line) == (session.thread("worker"), line_of(PROGRAM, "worker"))
    assert [event for event, _ in session.events()] == ["stopped", "continued", "stopped"]
    client.set_breakpoints(PROGRAM, [])
    client.resume(stop.thread_id)
    assert client.until_exit() == 0
