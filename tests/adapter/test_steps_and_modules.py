"""How far each process is, and which modules its models have."""

from __future__ import annotations

import pytest
from dap_client import RequestFailed, line_of

from zentracer.wire.codec import decode
from zentracer.wire.editor import EDITOR_EVENTS, EDITOR_REQUESTS

TRAINING = """
    import os, sys
    import torch

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(4, 4)
            self.second = torch.nn.Linear(4, 1)

        def forward(self, x):
            return self.second(torch.tanh(self.first(x)))

    def train(steps):
        model = Encoder()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(steps):
            optimizer.zero_grad()
            loss = model(torch.ones(2, 4)).square().mean()
            loss.backward()
            optimizer.step()
        print("trained", flush=True)  # @trained

    def launcher():
        import subprocess
        ranks = [
            subprocess.Popen([sys.executable, __file__, "3"], env={**os.environ, "RANK": rank})
            for rank in "10"
        ]
        print([rank.wait() for rank in ranks])

    launcher() if sys.argv[1] == "ranks" else train(int(sys.argv[1]))
    """
NONFINITE = "zentracer.nonfinite"


@pytest.fixture
def training(write_program):
    return write_program(TRAINING, "train.py")


def modules(client, **query):
    body = client.request("zentracer/modules", **query)
    decode(EDITOR_REQUESTS["modules"][1], body)
    return body


def test_steps_are_relayed(client, training):
    trained = {training: [line_of(training, "trained")]}
    client.launch(program=training, args=["400"], exceptions=[NONFINITE], breakpoints=trained)
    seen = client.wait_event("zentracer/step", lambda body: body["step"] >= 390)
    decode(EDITOR_EVENTS["step"], seen)
    assert seen["pid"] == client.wait_event("process")["systemProcessId"]
    assert seen["rank"] is None
    client.until_stopped()
    client.resume()
    assert client.until_exit() == 0
    steps = [body["step"] for body in client.events("zentracer/step")]
    assert steps == sorted(set(steps))


def test_steps_of_ranks_come_with_their_rank(client, training):
    client.launch(program=training, args=["ranks"], exceptions=[NONFINITE])
    children = [client.attach_child() for _ in range(2)]
    for rank in (0, 1):
        seen = client.wait_event("zentracer/step", lambda body, rank=rank: body["rank"] == rank)
        (child,) = [c for c in children if c.child.configuration["name"] == f"rank {rank}"]
        assert seen["pid"] == child.child.configuration["subProcessId"]
    assert client.until_exit() == 0


def test_modules_of_the_live_model(client, training):
    trained = {training: [line_of(training, "trained")]}
    client.launch(program=training, args=["2"], exceptions=[NONFINITE], breakpoints=trained)
    client.until_stopped()
    found = modules(client, query="first")
    assert [(item["name"], item["class_name"]) for item in found["modules"]] == [
        ("first", "Linear")
    ]
    assert (found["matching"], found["total"]) == (1, 3)
    everything = modules(client, limit=1)
    assert (len(everything["modules"]), everything["matching"]) == (1, 3)
    client.resume()
    assert client.until_exit() == 0


def test_modules_where_only_the_ranks_have_a_model(client, training):
    options = {"holdRanks": False}
    client.launch(program=training, args=["ranks"], exceptions=[NONFINITE], zentracer=options)
    trained = {training: [line_of(training, "trained")]}
    children = [client.attach_child(breakpoints=trained) for _ in range(2)]
    for child in children:
        child.until_stopped()
    found = modules(client, query="second")
    assert found["matching"] == 1 and "modules of rank 0" in found["note"]
    for child in children:
        own = modules(child, query="second")
        assert (own["matching"], own["note"]) == (1, None)
        child.resume()
    assert client.until_exit() == 0


def test_modules_without_a_process(client):
    client.initialize()
    with pytest.raises(RequestFailed, match="No training process is connected"):
        client.request("zentracer/modules")
    with pytest.raises(RequestFailed, match="limit must be a whole number"):
        client.request("zentracer/modules", limit="many")


def test_modules_where_zentracer_is_switched_off(client, training):
    trained = {training: [line_of(training, "trained")]}
    client.launch(program=training, args=["1"], env={"ZENTRACER": "off"}, breakpoints=trained)
    client.until_stopped()
    with pytest.raises(RequestFailed, match="ZENTRACER=off"):
        client.request("zentracer/modules")
