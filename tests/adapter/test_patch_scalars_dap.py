"""Numbers and flags that are changed from the console and from the Variables view."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import PROGRAMS
from dap_client import Client, RequestFailed, Stop, line_of

pytest.importorskip("torch")

PROGRAM = PROGRAMS / "patched.py"
LR = "optimizer.param_groups[0]['lr']"


def stopped(client: Client) -> Stop:
    client.launch(program=PROGRAM, breakpoints={PROGRAM: [line_of(PROGRAM, "before")]})
    return client.until_stopped()


def value(client: Client, stop: Stop, expression: str) -> str:
    return str(client.evaluate(expression, stop.frame_id, "watch")["result"])


def finished(client: Client, stop: Stop) -> None:
    client.set_breakpoints(PROGRAM, [])
    client.resume(stop.thread_id)
    assert client.until_exit() == 0
    assert "finite True" in client.output("stdout")


def row(client: Client, reference: int, name: str) -> Any:
    rows = client.request("variables", variablesReference=reference)["variables"]
    return next(one for one in rows if one["name"].strip("'\"") == name)


def test_every_door_to_a_learning_rate_ends_in_the_journal(client: Client) -> None:
    stop = stopped(client)
    client.evaluate(f"{LR} = 1e-4", stop.frame_id, "repl")
    client.evaluate(f"{LR} *= 2", stop.frame_id, "repl")
    client.request("setExpression", expression=LR, value="0.05", frameId=stop.frame_id)
    client.request("zentracer/apply_patch", target="optimizer.lr", op="scale", value=2)
    patches = client.request("zentracer/patches")["patches"]
    assert [(item["target"], item["text"], item["new"]) for item in patches] == [
        (LR, "set to 0.0001", "0.0001"),
        (LR, "scaled by 2", "0.0002"),
        (LR, "set to 0.05", "0.05"),
        ("optimizer.lr", "scaled by 2", "0.1"),
    ]
    for item in reversed(patches):
        state = client.request("zentracer/undo_patch", patch_id=item["patch_id"])
        assert state["status"] == "undone"
    assert value(client, stop, LR) == "0.1"
    finished(client, stop)


def test_a_row_of_a_parameter_group_is_edited(client: Client) -> None:
    stop = stopped(client)
    reference = client.evaluate("optimizer", stop.frame_id, "watch")["variablesReference"]
    group = row(client, reference, "param_groups[0]")["variablesReference"]
    answer = client.request("setVariable", variablesReference=group, name="'lr'", value="0.025")
    assert answer["value"] == "0.025" and value(client, stop, LR) == "0.025"
    with pytest.raises(RequestFailed, match="cannot be negative"):
        client.request("setVariable", variablesReference=group, name="'lr'", value="-1")
    [patch] = client.request("zentracer/patches")["patches"]
    assert patch["old"] == "0.1" and patch["new"] == "0.025"
    assert client.request("zentracer/undo_patch", patch_id=patch["patch_id"])["status"] == "undone"
    assert value(client, stop, LR) == "0.1"
    finished(client, stop)


def test_freezing_and_a_name_that_is_nearly_right(client: Client) -> None:
    stop = stopped(client)
    patch = client.request("zentracer/apply_patch", target="model[0]", op="freeze")
    assert patch["new"] == "requires_grad=False of 2 of 2 parameters"
    assert value(client, stop, "model[0].weight.requires_grad") == "False"
    patch = client.request("zentracer/apply_patch", target="2.weight", op="zero")
    assert value(client, stop, "float(model[2].weight.abs().sum())") == "0.0"
    with pytest.raises(RequestFailed, match=r"There is `optimizer\.momentum`"):
        client.request("zentracer/apply_patch", target="optimizer.momentun", value=0.5)
    finished(client, stop)
