"""Watches as an editor sees them, through the real adapter and the real debugger."""

from __future__ import annotations

import os
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from dap_client import Client, line_of

TRAINING = """
    import torch
    from torch import nn

    def train():
        torch.manual_seed(0)
        net = nn.Linear(8, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        batch = torch.ones(16, 8)
        for step in range(7):
            loss = net(batch).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step in (0, 5):
                here = step  # @here
                after = step
        return here, after

    train()
    """
WATCHES = ("net.weight", "loss", "loss.item()", "batch", "step", "net")
NAN = ["zentracer.nonfinite"]


class Stopped:
    """The program at one of its stops."""

    def __init__(self, client: Client) -> None:
        self.client = client
        stop = client.until_stopped()
        self.thread, self.frame, self.line = stop.thread_id, stop.frame_id, stop.line

    def result(self, expression: str, context: str = "watch") -> str:
        return self.client.evaluate(expression, self.frame, context)["result"]

    def history(self, expression: str) -> Any:
        answer = self.client.request(
            "zentracer/tensor", expression=expression, view="history", frame_id=self.frame
        )
        return answer["history"]

    def resume(self) -> Stopped:
        self.client.resume(self.thread)
        return Stopped(self.client)

    def next(self) -> Stopped:
        self.client.request("next", threadId=self.thread)
        return Stopped(self.client)


@pytest.fixture
def first(client: Client, write_program: Any) -> Any:
    def start(exceptions: list[str]) -> Stopped:
        program = write_program(TRAINING)
        client.launch(
            program=program,
            breakpoints={program: [line_of(program, "here")]},
            exceptions=exceptions,
        )
        return Stopped(client)

    return start


def test_a_watch_says_what_changed_since_the_last_stop(first: Any) -> None:
    stop = first(NAN)
    plain = {name: stop.result(name) for name in WATCHES}
    assert plain == {name: stop.result(name, "hover") for name in WATCHES}
    stop = stop.resume()
    shown = {name: stop.result(name) for name in WATCHES}
    assert shown == {name: stop.result(name) for name in WATCHES}
    added = {name: text.removeprefix(stop.result(name, "hover")) for name, text in shown.items()}
    was = plain["loss"].split(" · ")[1]
    assert added["net.weight"].startswith(" · Δ ")
    assert added["net.weight"].endswith("% since step 1")
    assert added["loss"] == f" · was {was} (step 1)"
    assert added["loss.item()"] == ""  # reads as Python writes it
    assert added["batch"] == " · unchanged"
    assert added["step"] == ""
    assert added["net"] == ""
    rows = {row["name"]: row["value"] for row in stop.client.variables(locals_of(stop))}
    assert rows["loss"] == stop.result("loss", "hover")
    assert stop.next().result("batch").endswith(" · unchanged")


def test_the_history_has_stops_and_the_steps_between(first: Any) -> None:
    stop = first(NAN)
    assert len(stop.history("net.weight")["points"]) == 1
    stop.result("loss")
    stop = stop.resume()
    history = stop.history("net.weight")
    points = history["points"]
    assert [(p["stop"], p["step"]) for p in points] == [
        (1, 1), *((None, step) for step in range(2, 7)), (2, 6),
    ]  # fmt: skip
    assert (history["kind"], history["note"], history["sampled"]) == ("tensor", None, False)
    assert [p["line"] for p in points if p["stop"]] == [stop.line] * 2
    mean = points[-1]["value"]
    assert mean == points[-2]["value"] != points[0]["value"]
    stats = stop.client.request(
        "zentracer/tensor", expression="net.weight", view="stats", frame_id=stop.frame
    )["stats"]
    assert mean == pytest.approx(stats["mean"])
    assert (points[-1]["low"], points[-1]["high"]) == (stats["min"], stats["max"])
    loss = stop.history("loss")
    assert loss["kind"] == "scalar"
    assert [p["step"] for p in loss["points"]] == [1, 2, 3, 4, 5, 6, 6]
    assert len({p["value"] for p in loss["points"]}) == 6


def test_without_steps_the_history_says_so(first: Any) -> None:
    stop = first([])
    stop.history("net.weight")
    history = stop.resume().history("net.weight")
    assert [(p["stop"], p["step"]) for p in history["points"]] == [(1, None), (2, None)]
    assert history["note"].startswith("Steps are seen while a tensor exception")


def test_a_watch_that_cannot_be_read_between_stops_says_so(first: Any) -> None:
    stop = first(NAN)
    stop.history("net.weight * 2")
    history = stop.resume().history("net.weight * 2")
    assert len(history["points"]) == 2
    assert history["note"].startswith("Between stops it is not read")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_forked_child_begins_anew(client: Client, write_program: Any) -> None:
    program = write_program(
        """
        import os

        def count(n):
            return n + 1  # @here

        count(1)
        if not os.fork():
            count(5)
            os._exit(0)
        os.wait()
        """
    )
    breakpoints = {program: [line_of(program, "here")]}
    client.launch(program=program, breakpoints=breakpoints, exceptions=[])
    stop = Stopped(client)
    assert stop.result("n") == "1"
    client.resume(stop.thread)
    child = client.attach_child(breakpoints=breakpoints)
    stop = Stopped(child)
    assert stop.result("n") == "5"
    child.resume(stop.thread)
    assert client.until_exit() == 0


def test_numbers_of_pythons_own_read_as_python_writes_them(
    client: Client, write_program: Any, interpreter: str
) -> None:
    program = write_program(
        """
        for n in range(3):
            square = n * n  # @here
        """
    )
    client.launch(
        program=program,
        python=[interpreter],
        breakpoints={program: [line_of(program, "here")]},
        exceptions=[],
    )
    stop = Stopped(client)
    assert (stop.result("n"), stop.result("n / 4")) == ("0", "0.0")
    stop = stop.resume()
    assert (stop.result("n"), stop.result("n", "hover")) == ("1", "1")
    assert stop.result("n / 4") == "0.25"
    assert stop.next().result("n") == "1"


def locals_of(stop: Stopped) -> int:
    scopes = stop.client.request("scopes", frameId=stop.frame)["scopes"]
    return scopes[0]["variablesReference"]
