"""Changes to a stopped program, by every door, through the adapter."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import PROGRAMS
from dap_client import Client, RequestFailed, Stop, line_of

pytest.importorskip("torch")

PROGRAM = PROGRAMS / "patched.py"
WEIGHT = "model[0].weight"


def stopped(client: Client, mark: str = "before") -> Stop:
    client.launch(program=PROGRAM, breakpoints={PROGRAM: [line_of(PROGRAM, mark)]})
    return client.until_stopped()


def apply(client: Client, stop: Stop, target: str, **patch: Any) -> Any:
    return client.request("zentracer/apply_patch", target=target, **patch)


def number(client: Client, stop: Stop, expression: str) -> float:
    return float(client.evaluate(f"float({expression})", stop.frame_id, "watch")["result"])


def listed(client: Client) -> list[Any]:
    return client.request("zentracer/patches")["patches"]


def test_a_change_and_back(client: Client) -> None:
    stop = stopped(client)
    before = number(client, stop, f"{WEIGHT}[0, 3]")
    patch = apply(client, stop, WEIGHT, slice="0, 3", value=0.5, label="try")
    assert patch["status"] == "applied" and patch["target"] == f"{WEIGHT}[0, 3]"
    assert patch["before"]["mean"] == pytest.approx(before) and patch["after"]["mean"] == 0.5
    assert patch["where"] == f"{PROGRAM.name}:{stop.line}"
    assert number(client, stop, f"{WEIGHT}[0, 3]") == 0.5
    event = client.wait_event("zentracer/patches")
    assert [item["patch_id"] for item in event["patches"]] == [patch["patch_id"]]
    undone = client.request("zentracer/undo_patch", patch_id=patch["patch_id"])
    assert undone["status"] == "undone"
    assert number(client, stop, f"{WEIGHT}[0, 3]") == before
    again = client.request("zentracer/redo_patch", patch_id=patch["patch_id"])
    assert again["status"] == "applied"
    assert number(client, stop, f"{WEIGHT}[0, 3]") == 0.5
    assert [item["status"] for item in listed(client)] == ["applied"]
    client.set_breakpoints(PROGRAM, [])
    client.resume(stop.thread_id)
    assert client.until_exit() == 0
    assert "finite True" in client.output("stdout")


def test_every_door_ends_in_the_journal(client: Client) -> None:
    stop = stopped(client)
    client.evaluate(f"{WEIGHT}[0, 0] = 0.25", stop.frame_id, "repl")
    client.evaluate(f"{WEIGHT}[0] *= 2", stop.frame_id, "repl")
    client.request(
        "setExpression", expression=f"{WEIGHT}[1, 1]", value="0.125", frameId=stop.frame_id
    )
    patches = listed(client)
    assert [(item["target"], item["text"]) for item in patches] == [
        (f"{WEIGHT}[0, 0]", "set to 0.25"),
        (f"{WEIGHT}[0]", "scaled by 2"),
        (f"{WEIGHT}[1, 1]", "set to 0.125"),
    ]
    assert number(client, stop, f"{WEIGHT}[0, 0]") == 0.5
    assert number(client, stop, f"{WEIGHT}[1, 1]") == 0.125
    for item in reversed(patches):
        state = client.request("zentracer/undo_patch", patch_id=item["patch_id"])
        assert state["status"] == "undone"


def test_an_earlier_change_under_a_later_one_is_out_of_sync(client: Client) -> None:
    stop = stopped(client)
    one = apply(client, stop, f"{WEIGHT}[0]", op="zero")
    two = apply(client, stop, f"{WEIGHT}[0, 0]", value=1)
    state = client.request("zentracer/undo_patch", patch_id=one["patch_id"])
    assert state["status"] == "out_of_sync"
    assert f"undo change {two['patch_id']} first" in state["message"]
    for patch in (two, one):
        state = client.request("zentracer/undo_patch", patch_id=patch["patch_id"])
        assert state["status"] == "undone"


def test_a_change_that_would_break_backward_is_refused(client: Client) -> None:
    stop = stopped(client, "between")
    with pytest.raises(RequestFailed, match=r"gradient of .*backward would fail"):
        apply(client, stop, "model[2].weight", op="scale", value=2)
    assert listed(client) == []
    client.set_breakpoints(PROGRAM, [line_of(PROGRAM, "after")])
    client.resume(stop.thread_id)
    stop = client.until_stopped()
    assert apply(client, stop, "model[2].weight", op="scale", value=2)["status"] == "applied"
    client.set_breakpoints(PROGRAM, [])
    client.resume(stop.thread_id)
    assert client.until_exit() == 0
    assert "finite True" in client.output("stdout")


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ({"target": WEIGHT, "value": [1, 2, 3]}, r"float32\[8, 4\].*does not broadcast"),
        ({"target": "nothing.weight", "value": 1}, "nothing"),
        ({"target": WEIGHT, "op": "polish", "value": 1}, "no change `polish`"),
        ({"target": WEIGHT, "op": "scale"}, "needs a value"),
        ({"target": f"{WEIGHT}[9, 9]", "value": 1}, "out of bounds"),
    ],
)
def test_what_does_not_fit_is_refused(client: Client, patch: dict[str, Any], why: str) -> None:
    stop = stopped(client)
    with pytest.raises(RequestFailed, match=why):
        apply(client, stop, **patch)
    assert listed(client) == []


def test_while_the_program_runs(client: Client) -> None:
    client.initialize()
    with pytest.raises(RequestFailed, match="stands still"):
        client.request("zentracer/undo_patch", patch_id=1)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            f"{WEIGHT}[0] = torch.ones(7)",
            f"`{WEIGHT}[0]` is float32[4], and float32[7] does not broadcast to that.",
        ),
        (
            f"{WEIGHT}[0] = nothing",
            "`nothing` cannot be evaluated here: NameError: name 'nothing' is not defined.",
        ),
    ],
)
def test_the_console_answers_a_refusal_with_its_sentence(
    client: Client, statement: str, said: str
) -> None:
    stop = stopped(client)
    with pytest.raises(RequestFailed) as failed:
        client.evaluate(statement, stop.frame_id, "repl")
    assert failed.value.message == said
