"""Suggestions: the cause is named, and an edit that is offered really mends the fault."""

from __future__ import annotations

import inspect
import linecache
import textwrap
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from programs import seeded
from watching import Host, watching

CAUSES = {
    "log_zero": "log(0) is -inf",
    "log_negative": "logarithm of a negative number",
    "zero_by_zero": "denominator z.norm() is 0",
    "divide_by_zero_std": "constant slice has standard deviation 0",
    "sqrt_gradient": "derivative of sqrt(x)",
    "sqrt_negative": "sqrt of a negative number",
    "power_gradient": "derivative of sqrt(x)",
    "exp_overflow": "exp overflows float32 above about 88; its largest input is 400",
    "half_overflow": "float16 ends at 65504",
    "masked_softmax": "a row that is -inf everywhere (rows 0)",
    "fully_padded_attention": "a row that is -inf everywhere",
    "where_gradient": "the branch that is not taken",
    "std_of_one": "divides by n - 1",
    "all_ignored": "every label equals ignore_index (-100)",
    "masked_target": "the target class is masked out",
    "ctc_too_short": "sample 0 has input length 4 but its target needs 5",
    "mean_of_nothing": "mean of zero elements",
    "adam_epsilon_in_half": "eps=1e-08 rounds to 0 in float16",
    "diverging": "grow from step to step",
}


def run(function: Any) -> Host:
    with watching() as host:
        function()
    return host


@pytest.mark.parametrize("name", CAUSES)
def test_cause_is_named(name: str) -> None:
    (function, _) = seeded.FAULTS[name]
    (suggestion, *_) = run(function).hits[0].details.suggestions
    assert CAUSES[name].lower() in suggestion.why.lower()


def edited(function: Any, line: int, new_text: str) -> Any:
    """Return ``function`` with one line of its source replaced."""
    lines, first = inspect.getsourcelines(function)
    lines = [text for text in lines if not text.startswith("@")]
    offset = line - first - (inspect.getsourcelines(function)[0][0].startswith("@"))
    lines[offset] = new_text + "\n"
    source = textwrap.dedent("".join(lines))
    path = f"<cell {function.__name__}>"
    linecache.cache[path] = (len(source), None, source.splitlines(True), path)
    names = dict(vars(seeded))
    exec(compile(source, path, "exec", dont_inherit=True, flags=ANNOTATIONS), names)
    return names[function.__name__]


ANNOTATIONS = __import__("__future__").annotations.compiler_flag


def with_edits() -> list[str]:
    return [
        "log_zero", "log_zero_method", "log_zero_without_grad", "log_negative", "zero_by_zero",
        "divide_by_zero_std", "reciprocal_of_zero", "sqrt_gradient", "power_gradient",
        "exp_overflow", "masked_softmax", "std_of_one", "var_of_one_row", "all_ignored",
        "ctc_too_short", "acos_gradient", "where_gradient", "where_division_gradient",
        "where_log_gradient", "pow_gradient_in_module", "distance_loss_gradient",
        "gradient_in_checkpoint", "in_nested_output", "under_no_grad", "in_custom_function",
    ]  # fmt: skip


@pytest.mark.parametrize("name", with_edits())
def test_edit_mends_the_fault(name: str) -> None:
    (function, _) = seeded.FAULTS[name]
    details = run(function).hits[0].details
    (edit,) = [s.edit for s in details.suggestions if s.edit is not None][:1]
    assert edit.old_text == linecache.getline(edit.path, edit.line).rstrip("\n")
    assert edit.line == details.origin.line
    mended = edited(function, edit.line, edit.new_text)
    assert [hit.text for hit in run(mended).hits] == []
