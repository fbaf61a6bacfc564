"""Breakpoints in compiled code: unverified with the reason, and hit when run eagerly."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import PROGRAMS
from dap_client import Client, RequestFailed, line_of

pytest.importorskip("torch")

PROGRAM = PROGRAMS / "compiled.py"
FORWARD, DOUBLE, STEP = (line_of(PROGRAM, mark) for mark in ("forward", "double", "step"))


def launch(client: Client, kind: str, *lines: int, **options: Any) -> None:
    client.launch(
        program=PROGRAM, args=[kind], breakpoints={PROGRAM: list(lines)}, zentracer=options
    )


def unverified(client: Client) -> dict[str, Any]:
    def matches(body: Any) -> bool:
        return not body["breakpoint"]["verified"]

    return client.wait_event("breakpoint", matches)["breakpoint"]


def test_a_session_is_run_eagerly_and_compiled_again(client: Client) -> None:
    launch(client, "compile", FORWARD, STEP)
    message = unverified(client)["message"]
    assert f"{PROGRAM.name}:{line_of(PROGRAM, 'compile')}" in message
    assert '"eager": true' in message
    assert client.wait_event("zentracer/eager_offer")["message"] == message
    stop = client.until_stopped()
    assert stop.line == STEP, "compiled code is not stopped in"

    answer = client.request("zentracer/run_eagerly")
    assert answer["eager"] is True and answer["regions"] == 1
    assert client.wait_event("breakpoint")["breakpoint"]["verified"] is True
    client.resume(stop.thread_id)
    stop = client.until_stopped()
    assert stop.line == FORWARD
    assert client.evaluate("y.shape", stop.frame_id, "hover")["result"] == "torch.Size([1, 2])"
    client.resume(stop.thread_id)
    stop = client.until_stopped()
    assert stop.line == STEP

    assert client.request("zentracer/run_eagerly", eager=False)["eager"] is False
    assert unverified(client)["message"] == message
    client.resume(stop.thread_id)
    assert client.until_stopped().line == STEP
    assert len(client.events("zentracer/eager_offer")) == 1
    client.set_breakpoints(PROGRAM, [])
    client.resume(stop.thread_id)
    assert client.until_exit() == 0


def test_a_breakpoint_set_later_is_unverified(client: Client) -> None:
    launch(client, "compile", STEP)
    stop = client.until_stopped()
    forward, step = client.set_breakpoints(PROGRAM, [FORWARD, STEP])
    if forward["verified"]:  # debugpy lets its answers overtake events
        forward = client.wait_event(
            "breakpoint", lambda body: body["breakpoint"]["id"] == forward["id"]
        )["breakpoint"]
    assert forward["verified"] is False and "torch.compile" in forward["message"]
    assert step["verified"] is True
    client.set_breakpoints(PROGRAM, [])
    client.resume(stop.thread_id)
    assert client.until_exit() == 0


def test_asked_for_before_anything_is_compiled(client: Client) -> None:
    client.initialize()
    client.launch(
        program=PROGRAM, args=["compile"], breakpoints={PROGRAM: [FORWARD]}, stopOnEntry=True
    )
    stop = client.until_stopped()
    assert client.request("zentracer/run_eagerly") == {"eager": True, "regions": 0, "note": None}
    for _ in range(4):
        client.resume(stop.thread_id)
        stop = client.until_stopped()
        assert stop.line == FORWARD
    client.resume(stop.thread_id)
    assert client.until_exit() == 0
    assert client.events("zentracer/eager_offer") == []


@pytest.mark.parametrize(
    ("kind", "line", "words"),
    [("script", FORWARD, "torch.jit.script"), ("trace", DOUBLE, "only while it records")],
)
def test_torchscript_says_so(client: Client, kind: str, line: int, words: str) -> None:
    launch(client, kind, line)
    stops = 0
    while client.until_exit_or_stop() is None:
        stops += 1
        client.resume()
    assert stops == (1 if kind == "trace" else 0)
    assert words in unverified(client)["message"]
    assert client.events("zentracer/eager_offer") == []


@pytest.mark.parametrize(
    ("kind", "line", "count"),
    [("compile", FORWARD, 4), ("script", FORWARD, 2), ("trace", DOUBLE, 2)],
)
def test_a_launch_that_is_eager_from_the_start(
    client: Client, kind: str, line: int, count: int
) -> None:
    launch(client, kind, line, eager=True)
    stops = 0
    while client.until_exit_or_stop() is None:
        stops += 1
        client.resume()
    assert stops == count
    assert not any("torch.jit" in body["output"] for body in client.events("output"))


def test_what_cannot_be_undone_is_said(client: Client) -> None:
    launch(client, "script", line_of(PROGRAM, "scripted"))
    stop = client.until_stopped()
    assert "TorchScript stays as it is" in client.request("zentracer/run_eagerly")["note"]
    client.resume(stop.thread_id)
    assert client.until_exit() == 0


def test_a_wrong_argument_is_refused(client: Client) -> None:
    launch(client, "trace")
    with pytest.raises(RequestFailed, match="eager"):
        client.request("zentracer/run_eagerly", eager="yes")
    assert client.until_exit() == 0
