"""Programs that really end in an exception of PyTorch's, debugged through the real adapter."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases import Case, cases
from dap_client import Client

# What the text must contain, besides the line: the evidence a person would look for.
EVIDENCE = {
    "pytorch_dtype_float_double": ["x is float64", "from_numpy", "net.weight is float32"],
    "pytorch_err_batchnorm_last_batch": ["[1, 8]", "17 % 8 == 1", "drop_last is False"],
    "pytorch_grad_backward_twice_hidden": ["h was made in the previous iteration", "not detached"],
    "pytorch_grad_inplace_after_sigmoid": ["gate was made here", "version 0 -> 1"],
    "pytorch_index_position_embedding": [
        "index 12",
        "table size 12",
        "`pos`",
        "sequence length 15",
    ],
    "pytorch_index_target_out_of_bounds": [
        "label value 3",
        "rows 2, 5",
        "0..2",
        "logits [6, 3]",
    ],
    "pytorch_shape_flatten_linear": [
        "h is [8, 1152]",
        "fc (linear) wants 512",
        "conv [8, 32, 24, 24]",
        "max_pool2d [8, 32, 6, 6]",
    ],
}
CASES = [case for case in cases("pytorch_*.py") if case.path.stem in EVIDENCE]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.path.stem)
def test_case_blames_the_line(client: Client, case: Case) -> None:
    client.initialize()
    client.launch(program=str(case.path), exceptions=["uncaught", "zentracer.nonfinite"])
    stop = client.until_stopped()
    info = client.exception_info(stop.thread_id)
    details = info["details"]["zentracer"]

    assert details["filter"] == "zentracer.error"
    assert Path(details["origin"]["path"]).name == case.path.name
    assert details["origin"]["line"] in case.lines("culprit")
    assert details["source"]["line"] in case.lines("raises")
    assert (stop.path, stop.line) == (details["source"]["path"], details["source"]["line"])
    assert details["suggestions"]
    own, _, ours = info["description"].partition("\n\n")
    assert own == info["details"]["message"]  # debugpy's own comes first, and stays
    assert "Traceback" in info["details"]["stackTrace"] or "File" in info["details"]["stackTrace"]
    assert ours.startswith(details["text"])
    for evidence in EVIDENCE[case.path.stem]:
        assert evidence.lower() in ours.lower()
    client.resume(stop.thread_id)
    assert client.until_exit() == 1
    findings = client.events("zentracer/findings")[-1]["findings"]
    assert [(f["rule"], f["severity"], f["count"]) for f in findings] == [
        ("zentracer.error", "error", 1)
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.path.stem)
def test_healthy_twin_runs_through(client: Client, case: Case, tmp_path: Path) -> None:
    client.initialize()
    client.launch(program=str(case.twin(tmp_path)), exceptions=["uncaught", "zentracer.nonfinite"])
    assert client.until_exit_or_stop() == 0
