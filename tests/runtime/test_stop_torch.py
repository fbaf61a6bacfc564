"""Stops from hooks of real torch: in a module's forward, and deep inside of the autograd engine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from dap_client import Client, Stop, line_of
from support import environment

pytest.importorskip("torch")


@pytest.mark.parametrize("just_my_code", [True, False])
@pytest.mark.parametrize(
    ("text", "command", "function", "marker"),
    [
        ("forward", "next", "forward", "forward-next"),
        ("forward", "stepOut", "train", "call"),
        ("backward", "next", "train", "backward-next"),
        ("backward", "stepIn", "train", "backward-next"),
        ("backward", "stepOut", "<module>", "train"),
    ],
)
def test_steps(
    start_client: Callable[..., Client],
    programs: Path,
    text: str,
    command: str,
    function: str,
    marker: str,
    just_my_code: bool,
) -> None:
    program = programs / "stop_torch.py"
    client = start_client("debugpy")
    client.launch(program=program, env=environment(), justMyCode=just_my_code)
    stop = client.until_stopped()
    if text == "backward":
        client.resume(stop.thread_id)
        stop = client.until_stopped()
    assert (stop.body["description"], stop.line) == (text, line_of(program, text))
    assert client.evaluate("x.requires_grad", stop.frame_id)["result"] == "True"
    after = users(client.step(command, stop), program)
    assert (after["name"], after["line"]) == (function, line_of(program, marker))


def users(stop: Stop, program: Path) -> dict:
    """The top frame, or with justMyCode off the user's frame that a library stop belongs to."""
    return next(frame for frame in stop.frames if frame["source"]["path"] == str(program))


@pytest.mark.parametrize("just_my_code", [True, False])
def test_steps_pass_over_what_an_armed_hook_calls(
    client: Client, programs: Path, just_my_code: bool
) -> None:
    program = programs / "stop_armed.py"
    client.launch(program=program, justMyCode=just_my_code, exceptions=["zentracer.nonfinite"])
    stop = client.until_stopped()
    assert stop.line == line_of(program, "made")
    for marker in ("after", "then"):
        stop = client.step("stepIn", stop)
        assert (stop.path, stop.line) == (str(program), line_of(program, marker))
