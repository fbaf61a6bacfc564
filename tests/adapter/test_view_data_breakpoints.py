"""Data breakpoints from outside the editor's own list, and the list of all as they stand."""

from __future__ import annotations

from pathlib import Path
from typing import Callable

import pytest
from dap_client import Client, Message, RequestFailed, line_of

PROGRAM = """
    import torch

    weight = torch.zeros(3)
    print("ready")  # @stop
    """


def of_view(client: Client, *breakpoints: Message) -> list[Message]:
    body = client.request("zentracer/set_data_breakpoints", breakpoints=list(breakpoints))
    return body["breakpoints"]


@pytest.fixture
def stopped(client: Client, write_program: Callable[..., Path]) -> Client:
    program = write_program(PROGRAM)
    client.initialize()
    client.launch(program=program, breakpoints={program: [line_of(program, "stop")]})
    client.until_stopped()
    return client


def test_there_must_be_a_process_for_a_tensor_to_live_in(client: Client) -> None:
    client.initialize()
    with pytest.raises(RequestFailed, match="No training process is connected"):
        of_view(client, {"data_id": "t1", "name": "x"})


def test_a_list_without_sense_is_refused(stopped: Client) -> None:
    with pytest.raises(RequestFailed, match="data_id"):
        of_view(stopped, {"name": "x"})


def test_those_of_the_view_and_of_the_editor_are_listed_with_what_became_of_them(
    stopped: Client,
) -> None:
    (edited,) = stopped.set_data({"dataId": "no such tensor", "condition": "nan > 0"})
    first, off, other = of_view(
        stopped,
        {"data_id": "nor this one", "name": "weight"},
        {"data_id": "nor this one", "name": "weight", "condition": "nan > 0", "enabled": False},
    )
    assert (first["source"], first["name"], first["hits"]) == ("view", "weight", 0)
    assert not first["verified"] and first["message"]
    assert not off["enabled"] and off["message"] is None
    assert (other["source"], other["condition"]) == ("editor", "nan > 0")
    assert other["id"] == edited["id"]
    assert len({first["id"], off["id"], other["id"]}) == 3
    again = stopped.wait_event(
        "zentracer/data_breakpoints", lambda body: len(body["breakpoints"]) == 3
    )
    assert again["breakpoints"][0]["pid"] == first["pid"]


def test_what_is_wrong_with_a_condition_is_said_on_the_breakpoint(stopped: Client) -> None:
    (said,) = of_view(
        stopped, {"data_id": "t1", "name": "weight", "condition": "nrom > 1", "enabled": True}
    )
    assert "Did you mean 'norm'?" in said["message"]


def test_they_are_forgotten_with_their_process(stopped: Client) -> None:
    of_view(stopped, {"data_id": "t1", "name": "weight"})
    stopped.resume()
    assert stopped.until_exit() == 0
    stopped.wait_event("zentracer/data_breakpoints", lambda body: not body["breakpoints"])


WRITES = """
    import torch

    weight = torch.zeros(3)

    def train():
        steps = weight[1:]
        for step in range(3):
            weight.add_(1)  # @stop @add
        steps[0] = float("nan")  # @nan
        print("done")

    train()
    """


def test_a_row_of_variables_stops_where_it_is_written_with_a_nan(
    client: Client, write_program: Callable[..., Path]
) -> None:
    program = write_program(WRITES)
    client.initialize()
    client.launch(program=program, breakpoints={program: [line_of(program, "stop")]})
    stop = client.until_stopped()
    client.set_breakpoints(program, [])
    scopes = client.request("scopes", frameId=stop.frame_id)["scopes"]
    found = {
        scope["name"]: client.request(
            "dataBreakpointInfo", name=name, variablesReference=scope["variablesReference"]
        )
        for scope, name in zip(scopes, ("steps", "weight"))
    }
    assert found["Globals"]["description"].startswith("weight · float32[3]")
    local, of_module = found["Locals"], found["Globals"]
    (edited,) = client.set_data({"dataId": of_module["dataId"], "hitCondition": "2"})
    first, second = of_view(
        client,
        {"data_id": local["dataId"], "name": local["description"], "condition": "nan > 0"},
        {"data_id": of_module["dataId"], "name": "weight", "enabled": False},
    )[:2]
    assert first["verified"] and edited["verified"] and not second["verified"]
    client.resume()
    stop = client.until_stopped()
    assert (stop.line, stop.body["hitBreakpointIds"]) == (line_of(program, "add"), [edited["id"]])
    client.resume()
    stop = client.until_stopped()
    assert (stop.line, stop.body["hitBreakpointIds"]) == (line_of(program, "nan"), [first["id"]])
    said = client.wait_event("output", lambda body: stop.body["text"] in body["output"])
    assert said["category"] == "console"
    hit = client.wait_event(
        "zentracer/data_breakpoints", lambda body: body["breakpoints"][0]["hits"] == 1
    )
    assert hit["breakpoints"][0]["last"]["text"] == stop.body["text"]
    client.resume()
    assert client.until_exit() == 0


def test_a_row_of_a_scope_of_ours_has_its_own_name(
    client: Client, write_program: Callable[..., Path]
) -> None:
    program = write_program(WRITES_OF_A_MODULE)
    client.initialize()
    client.launch(program=program, functions=["module:Linear"])
    stop = client.until_stopped()
    scopes = client.request("scopes", frameId=stop.frame_id)["scopes"]
    references = {scope["name"]: scope["variablesReference"] for scope in scopes}
    found = client.request(
        "dataBreakpointInfo", name="weight", variablesReference=references["Module"]
    )
    assert found["description"] == "weight · float32[3, 2]"


WRITES_OF_A_MODULE = """
    import torch

    model = torch.nn.Linear(2, 3)
    model(torch.ones(1, 2))
    """


GOES = """
    import torch

    held = [torch.zeros(3)]
    print("ready")  # @stop
    held.clear()
    net = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        net(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    print("gone")  # @gone
    """


def test_the_end_of_a_tensor_shows_in_the_list_and_nowhere_else(
    client: Client, write_program: Callable[..., Path]
) -> None:
    program = write_program(GOES)
    client.initialize()
    lines = [line_of(program, "stop"), line_of(program, "gone")]
    client.launch(program=program, breakpoints={program: lines})
    stop = client.until_stopped()
    row = client.request("dataBreakpointInfo", name="held[0]", frameId=stop.frame_id)
    (known,) = of_view(client, {"data_id": row["dataId"], "name": "held[0]"})
    assert known["verified"]
    client.resume()
    client.until_stopped()
    seen = client.wait_event(
        "zentracer/data_breakpoints", lambda body: not body["breakpoints"][0]["verified"]
    )
    assert seen["breakpoints"][0]["message"]
    assert not [b for b in client.events("breakpoint") if b["breakpoint"]["id"] == known["id"]]
    client.resume()
    assert client.until_exit() == 0
