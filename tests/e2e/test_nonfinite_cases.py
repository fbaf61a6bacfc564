"""Programs that really go NaN or Inf, debugged through the real adapter."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases import Case, cases
from dap_client import Client

CASES = cases("pytorch_nan_*.py") + cases("pytorch_inf_*.py")
FILTER = "zentracer.nonfinite"

# What the message must contain, besides the line: the evidence a person would look for.
EVIDENCE = {
    "pytorch_inf_ctc_short_input": ["sample 1 has input length 4 but its target needs 6"],
    "pytorch_inf_fp16_linear": ["output of wo", "float16", "65504"],
    "pytorch_inf_vae_logvar_exp": ["exp", "0.5 * logvar", "largest input"],
    "pytorch_nan_adam_eps_half": [
        "parameter weight",
        "eps=1e-08 rounds to 0",
        "gradients were finite",
    ],
    "pytorch_nan_all_labels_ignored": ["every label equals ignore_index (-100)"],
    "pytorch_nan_edge_magnitude": ["PowBackward0", "forward values"],
    "pytorch_nan_from_target_data": ["output of log"],
    "pytorch_nan_log_zero_focal": ["output of log", "1 - p"],
    "pytorch_nan_softmax_empty_row": ["softmax", "rows 2"],
    "pytorch_nan_sqrt_zero": ["SqrtBackward0", "forward values"],
    "pytorch_nan_uninitialised_parameter": ["parameter gate of Gated"],
    "pytorch_nan_where_unused_branch": ["ExpBackward0", "masked out in forward"],
    "pytorch_nan_zero_norm_division": ["div", "denominator"],
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.path.stem)
def test_case_stops_at_the_line_to_blame(client: Client, case: Case) -> None:
    client.initialize()
    client.launch(program=str(case.path), exceptions=[FILTER])
    stop = client.until_stopped()
    info = client.exception_info(stop.thread_id)
    details = info["details"]["zentracer"]

    assert Path(details["origin"]["path"]).name == case.path.name
    assert details["origin"]["line"] in case.lines("culprit")
    assert (stop.path, stop.line) == (details["source"]["path"], details["source"]["line"])
    assert stop.body["reason"] == "exception"
    assert stop.body["description"].startswith("NaN or Inf in ")
    assert stop.body["text"] == info["details"]["message"]
    assert info["exceptionId"] == "NaN or Inf"
    assert details["suggestions"]
    said = info["description"].lower()
    for evidence in EVIDENCE[case.path.stem]:
        assert evidence.lower() in said
    client.set_exceptions([])
    client.resume(stop.thread_id)
    assert client.until_exit() == 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.path.stem)
def test_healthy_twin_runs_through(client: Client, case: Case, tmp_path: Path) -> None:
    client.initialize()
    client.launch(program=str(case.twin(tmp_path)), exceptions=[FILTER])
    assert client.until_exit_or_stop() == 0
    assert "symptom: absent" in client.output("stdout")
    assert not [o for o in client.events("output") if "ZenTracer" in o["output"]]
