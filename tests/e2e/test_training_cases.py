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
            "orthogonal_",
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
