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
