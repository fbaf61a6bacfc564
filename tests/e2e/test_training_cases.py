"""Programs whose training goes wrong without NaN, debugged through the real adapter."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from cases import FOLDER, Case
from dap_client import Client


@dataclass(frozen=True)
class Expected:
    """What a case must be found by, and what the message must contain besides the line."""

    filter: str
    evidence: tuple[str, ...]


EXPECTED = {
    "pytorch_diverge_learning_rate": Expected(
        "exploding",
        (
            "updates larger than the weights in sgd.step",
            "update / weight norm 1.52, 43.6",
            "learning rate 2",
            "lower the learning rate from 2 to 0.2",
            "lr=0.2)",
        ),
    ),
    "pytorch_explode_rnn_gradient": Expected(
        "exploding",
        (
            "exploding gradient in rnn.weight_hh_l0",
            "norm 1.77e+20",
            "spectral norm of 2.2",
            "+ nn.init.orthogonal_(self.rnn.weight_hh_l0, gain=0.9)",
            "clip_grad_norm_",
        ),
    ),
    "pytorch_vanish_sigmoid_stack": Expected(
        "vanishing",
        (
            "vanishing gradient in net.0.weight",
            "each of 13 layers leaves about 0.13",
            "12 of them",
            "nn.ReLU()",
            "kaiming_normal_",
            "xavier_uniform_",
            "orthogonal_",
            "no normalisation",
        ),
    ),
    "pytorch_params_head_missing_in_groups": Expected(
        "stalled",
        (
            "head.weight and head.bias do not learn",
            "gradients in 3 steps, but no optimizer owns them",
            "adamw was given 2 parameters",
            "give head.weight and head.bias to adamw",
        ),
    ),
    "pytorch_params_in_python_list": Expected(
        "stalled",
        (
            "hidden[0].weight",
            "mlp.hidden is a plain list",
            "self.hidden = nn.modulelist([nn.linear(8, 8) for _ in range(3)])",
        ),
    ),
    "pytorch_params_left_frozen": Expected(
        "stalled",
        ("body.weight and body.bias do not learn", "frozen 2 times", "never switched on again"),
    ),
    "pytorch_params_replaced_after_optimizer": Expected(
        "stalled",
        (
            "1.bias do not learn",
            "put in place after sgd was built",
            "sgd still owns 2 parameters that are no longer in the model",
        ),
    ),
    "pytorch_broadcast_mse_target": Expected(
        "shape",
        (
            "silent broadcast in mse_loss",
            "(64, 1) with (64,) broadcast to (64, 64)",
            "net(x)  float32[64, 1]",
            "loss = f.mse_loss(net(x).squeeze(1), y)",
        ),
    ),
    "pytorch_dead_relu_layer": Expected(
        "dead",
        (
            "dead layer in act",
            "all 32 units are zero",
            "gradient of fc1.weight: exactly 0",
            "mean 127, std 75",
            "lower the learning rate from 0.3 to 0.03",
        ),
    ),
}
ADVICE = {
    "pytorch_grad_none_non_leaf": Expected(
        "non_leaf_grad",
        ("w is no leaf: MulBackward0 made it", "(torch.randn(5, 1) * 0.1).requires_grad_()"),
    ),
    "pytorch_grad_cut_by_argmax": Expected(
        "graph_cut",
        ("the loss term consist has no path to head_a.weight", "argmax", "is coarse", "softmax"),
    ),
}
ARMED = sorted({f"zentracer.{expected.filter}" for expected in EXPECTED.values()})


@pytest.mark.parametrize("name", EXPECTED)
def test_case_stops_at_the_line_to_blame(client: Client, name: str) -> None:
    case, expected = Case(FOLDER / f"{name}.py"), EXPECTED[name]
    client.initialize()
    client.launch(program=str(case.path), exceptions=[f"zentracer.{expected.filter}"])
    stop = client.until_stopped()
    info = client.exception_info(stop.thread_id)
    details = info["details"]["zentracer"]

    assert Path(details["origin"]["path"]).name == case.path.name
    assert details["origin"]["line"] in case.lines("culprit")
    assert (stop.path, stop.line) == (details["source"]["path"], details["source"]["line"])
    assert stop.body["reason"] == "exception"
    assert details["filter"] == f"zentracer.{expected.filter}"
    assert details["suggestions"]
    said = info["description"].lower()
    for evidence in expected.evidence:
        assert evidence.lower() in said
    client.set_exceptions([])
    client.resume(stop.thread_id)
    assert client.until_exit() == 0


@pytest.mark.parametrize("name", EXPECTED)
def test_healthy_twin_runs_through(client: Client, name: str, tmp_path: Path) -> None:
    client.initialize()
    client.launch(program=str(Case(FOLDER / f"{name}.py").twin(tmp_path)), exceptions=ARMED)
    assert client.until_exit_or_stop() == 0
    assert "symptom: absent" in client.output("stdout")
    assert not [o for o in client.events("output") if "ZenTracer" in o["output"]]


@pytest.mark.parametrize("name", ADVICE)
def test_case_is_listed_at_the_line_to_blame(client: Client, name: str) -> None:
    case, expected = Case(FOLDER / f"{name}.py"), ADVICE[name]
    client.initialize()
    client.launch(program=str(case.path), exceptions=["zentracer.stalled"])
    assert client.until_exit_or_stop() == 0
    found = [
        finding
        for body in client.events("zentracer/findings")[-1:]
        for finding in body["findings"]
        if finding["rule"] == expected.filter
    ]
    assert len(found) == 1
    assert found[0]["source"]["line"] in case.lines("culprit")
    for evidence in expected.evidence:
        assert evidence in str(found[0])


@pytest.mark.parametrize("name", ADVICE)
def test_nothing_is_listed_of_a_healthy_twin(client: Client, name: str, tmp_path: Path) -> None:
    client.initialize()
    twin = Case(FOLDER / f"{name}.py").twin(tmp_path)
    client.launch(program=str(twin), exceptions=["zentracer.stalled"])
    assert client.until_exit_or_stop() == 0
    found = [f for body in client.events("zentracer/findings") for f in body["findings"]]
    assert not [f for f in found if f["rule"] in {e.filter for e in ADVICE.values()}]
