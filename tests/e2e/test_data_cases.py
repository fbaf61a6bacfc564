"""Programs where something writes that nobody expects, with data breakpoints set as editors do."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cases import Case, cases
from dap_client import Client, Stop


class Watched(NamedTuple):
    """What a user would watch in a case."""

    before: str
    """The line at which the breakpoint is set contains this."""
    expression: str
    row: tuple[str, ...]
    """The same among the variables."""
    mark: str
    """Of the line that writes."""
    said: tuple[str, ...]
    edited: str
    """The mark of the line that the suggestion edits."""


CASES = {
    "pytorch_watch_best_state_alias": Watched(
        "    loss = nn.functional",
        'best["weight"]',
        ("best", "'weight'"),
        "alloc",
        ("changed by SGD.step", "shares storage with net.weight", "state_dict()"),
        "culprit",
    ),
    "pytorch_watch_dataset_inplace": Watched(
        "means = []",
        "data.images",
        ("data", "images"),
        "culprit",
        ("data.images changed by sub_", "48 of 960 elements"),
        "culprit",
    ),
    "pytorch_watch_frozen_batchnorm_stats": Watched(
        "for step in range",
        "backbone[1].running_mean",
        (),
        "culprit",
        ("batch_norm in forward of 0.1 (BatchNorm1d)", "8 of 8 elements", "backbone.eval()"),
        "origin",
    ),
}


def case_of(name: str) -> Case:
    (found,) = cases(f"{name}.py")
    return found


def stop_before(client: Client, program: Path, text: str) -> Stop:
    lines = program.read_text(encoding="utf-8").splitlines()
    line = next(number for number, code in enumerate(lines, 1) if code.startswith(text))
    client.initialize()
    client.launch(program=str(program), breakpoints={program: [line]}, exceptions=[])
    stop = client.until_stopped()
    client.set_breakpoints(program, [])
    return stop


def of_expression(client: Client, stop: Stop, expression: str) -> Any:
    return client.request("dataBreakpointInfo", name=expression, frameId=stop.frame_id)


def of_row(client: Client, stop: Stop, path: tuple[str, ...]) -> Any:
    reference = client.scopes(stop.frame_id)["Locals"][path[0]]["variablesReference"]
    return client.request("dataBreakpointInfo", name=path[1], variablesReference=reference)


@pytest.mark.parametrize("name", CASES)
def test_case_stops_at_the_line_that_writes(client: Client, name: str) -> None:
    case, watched = case_of(name), CASES[name]
    stop = stop_before(client, case.path, watched.before)
    info = of_expression(client, stop, watched.expression)
    assert info["accessTypes"] == ["write"]
    assert info["description"].startswith(f"{watched.expression} · float32[")
    if watched.row:
        assert of_row(client, stop, watched.row)["dataId"] == info["dataId"]
    (status,) = client.set_data({"dataId": info["dataId"], "accessType": "write"})
    assert status["verified"], status
    client.resume(stop.thread_id)

    stop = client.until_stopped()
    assert stop.body["reason"] == "data breakpoint"
    assert stop.body["hitBreakpointIds"] == [status["id"]]
    assert stop.line in case.lines(watched.mark)
    said = client.exception_info(stop.thread_id)
    for text in watched.said:
        assert text in said["description"]
    details = said["details"]["zentracer"]
    assert details["before"]["size"] == details["tensor"]["size"]
    (suggestion,) = details["suggestions"]
    assert suggestion["edit"]["line"] in case.lines(watched.edited)
    new = suggestion["edit"]["new_text"].splitlines()
    fixed = [line.partition("  # <-")[0].strip() for line in new]
    assert fixed == case.fields["fix-line"].split(" ;; ")
    assert set(client.scopes(stop.frame_id)["Tensors"]) >= {"x", "before"}

    client.set_data()
    client.resume(stop.thread_id)
    assert client.until_exit() == 0


@pytest.mark.parametrize("name", CASES)
def test_twin_is_silent(client: Client, name: str, tmp_path: Path) -> None:
    watched = CASES[name]
    program = case_of(name).twin(tmp_path)
    stop = stop_before(client, program, watched.before)
    info = of_expression(client, stop, watched.expression)
    client.set_data({"dataId": info["dataId"]})
    client.resume(stop.thread_id)
    assert client.until_exit_or_stop() == 0
    assert "symptom: absent" in client.output("stdout")
