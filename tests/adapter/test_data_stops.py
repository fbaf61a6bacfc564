"""Data breakpoints: what the user writes at a stop is no hit, what the program writes is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("torch")

from dap_client import Client, line_of

PROGRAM = """
    import numpy as np
    import torch

    class Data:
        def __init__(self):
            self.images = np.zeros((3, 4), dtype=np.float32)

    data = Data()
    net = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(4):
        loss = net(torch.ones(1, 2)).sum()  # @stop
        optimizer.zero_grad()
        loss.backward()
        if step == 2:
            data.images[1] = 5  # @unseen
            print("written")  # @after
        torch.zeros(1)  # @found
    with torch.no_grad():
        net.weight.add_(1)  # @add
    del net, loss, optimizer
    print("done")
    """


@pytest.fixture
def program(write_program: Callable[..., Path]) -> Path:
    return write_program(PROGRAM)


def watch(client: Client, frame_id: int, *expressions: str) -> list[dict[str, object]]:
    ids = [
        client.request("dataBreakpointInfo", name=name, frameId=frame_id)["dataId"]
        for name in expressions
    ]
    return client.set_data(*({"dataId": data_id} for data_id in ids))


def test_what_the_user_writes_at_a_stop_is_known(client: Client, program: Path) -> None:
    line = line_of(program, "stop")
    client.initialize()
    client.launch(program=str(program), breakpoints={program: [line]}, exceptions=[])
    stop = client.until_stopped()
    statuses = watch(client, stop.frame_id, "net.weight", "data.images")
    assert all(status["verified"] for status in statuses)
    for step in range(3):
        assert stop.line == line
        client.evaluate("net.weight.data.fill_(7)", stop.frame_id, "repl")
        client.evaluate("data.images.fill(3)", stop.frame_id, "repl")
        client.request(
            "setExpression", expression=f"data.images[0, {step}]", value="9", frameId=stop.frame_id
        )
        client.resume(stop.thread_id)
        stop = client.until_stopped()
    # What NumPy has written in the third step stops at the next call of torch.
    assert stop.line == line_of(program, "found")
    assert stop.body["hitBreakpointIds"] == [statuses[1]["id"]]
    client.set_breakpoints(program, [])
    client.resume(stop.thread_id)
    stop = client.until_stopped()
    assert stop.line == line_of(program, "add")
    assert stop.body["hitBreakpointIds"] == [statuses[0]["id"]]
    client.resume(stop.thread_id)
    assert client.until_exit() == 0


def test_write_before_a_stop_is_told_after_it(client: Client, program: Path) -> None:
    first, after = line_of(program, "stop"), line_of(program, "after")
    client.initialize()
    client.launch(program=str(program), breakpoints={program: [first]}, exceptions=[])
    stop = client.until_stopped()
    (status,) = watch(client, stop.frame_id, "data.images")
    client.set_breakpoints(program, [after])
    client.resume(stop.thread_id)
    stop = client.until_stopped()
    assert stop.line == after
    client.evaluate("data.images.fill(3)", stop.frame_id, "repl")
    client.resume(stop.thread_id)
    stop = client.until_stopped()
    assert stop.line == line_of(program, "found")
    assert stop.body["hitBreakpointIds"] == [status["id"]]
    details = client.exception_info(stop.thread_id)["details"]["zentracer"]
    assert details["note"].startswith("found at the next safe point; it was written between")
    client.resume(stop.thread_id)
    assert client.until_exit() == 0


def test_row_is_the_place_however_else_it_was_shown(client: Client, program: Path) -> None:
    client.initialize()
    client.launch(program=str(program), breakpoints={program: [line_of(program, "stop")]})
    stop = client.until_stopped()
    reference = client.scopes(stop.frame_id)["Locals"]["data"]["variablesReference"]
    for expression in ("[data]", "{'it': data}", "vars()"):
        shown = client.request("evaluate", expression=expression, frameId=stop.frame_id)
        client.request("variables", variablesReference=shown["variablesReference"])
    info = client.request("dataBreakpointInfo", name="images", variablesReference=reference)
    assert info["description"].startswith("data.images · float32[3, 4]")
    same = client.request("dataBreakpointInfo", name="data.images", frameId=stop.frame_id)
    assert same["dataId"] == info["dataId"]
    client.set_breakpoints(program, [])
    client.resume(stop.thread_id)
    assert client.until_exit() == 0


def test_breakpoint_of_an_earlier_run(client: Client, program: Path) -> None:
    client.initialize()
    client.launch(program=str(program), breakpoints={program: [line_of(program, "stop")]})
    stop = client.until_stopped()
    (status,) = client.set_data({"dataId": "0badc0de-1"})
    assert not status["verified"]
    assert "another process or to an earlier run" in status["message"]
    client.set_data()
    client.set_breakpoints(program, [])
    client.resume(stop.thread_id)
    assert client.until_exit() == 0
