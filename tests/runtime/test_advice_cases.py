"""Programs with real mistakes: each gives its advice at the line to blame, its twin none."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

pytest.importorskip("torch")

from cases import Case, cases

from tests.runtime.watching import Host, watching_for

RULES = {
    "pytorch_mode_eval_missing": "eval_in_train_mode",
    "pytorch_mode_functional_dropout": "functional_dropout_in_eval",
    "pytorch_lint_double_softmax": "double_softmax",
    "pytorch_lint_softmax_over_batch": "softmax_over_batch",
    "pytorch_shape_lstm_batch_first": "batch_axis_as_time",
    "pytorch_lint_clip_after_step": "clip_after_step",
    "pytorch_lint_missing_zero_grad": "missing_zero_grad",
    "pytorch_load_nothing_strict_false": "load_matched_nothing",
}
CASES = [case for name in RULES for case in cases(f"{name}.py")]


def run(path: Path) -> Host:
    with watching_for("nonfinite", advice=True) as host:
        runpy.run_path(str(path), run_name="__main__")
    assert host.notices == []
    return host


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.path.stem)
def test_case_is_told_at_the_line_to_blame(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    host = run(case.path)
    assert "symptom: present" in capsys.readouterr().out
    [advice] = host.advice
    assert advice.rule == RULES[case.path.stem]
    assert advice.details.origin.path == str(case.path)
    assert advice.details.origin.line in case.lines("culprit")
    assert advice.details.suggestions
    assert advice.severity == "warning"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.path.stem)
def test_healthy_twin_is_silent(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    host = run(case.twin(tmp_path))
    assert "symptom: absent" in capsys.readouterr().out
    assert (host.advice, host.hits) == ([], [])
