from __future__ import annotations

import pytest

from zentracer.wire.filters import FILTERS
from zentracer_dap.headless.breaks import parse_breaks
from zentracer_dap.headless.debug import at_the_end
from zentracer_dap.headless.problem import UsageProblem


def test_no_option_means_the_filters_that_are_on_by_default():
    assert parse_breaks([]).filters == [{"filter": "zentracer.nonfinite"}]


@pytest.mark.parametrize("name", ["nonfinite", "zentracer.nonfinite"])
def test_short_and_full_names(name: str):
    assert parse_breaks([name]).filters == [{"filter": "zentracer.nonfinite"}]


def test_the_condition_is_all_that_follows_the_first_colon():
    assert parse_breaks(["nonfinite: x[1:2] > 0"]).filters == [
        {"filter": "zentracer.nonfinite", "condition": "x[1:2] > 0"}
    ]


def test_several_breaks_keep_their_order():
    first, second = parse_breaks(["nonfinite:step > 3", "nonfinite"]).filters
    assert first["condition"] == "step > 3"
    assert "condition" not in second


def test_all_is_every_filter_with_one_condition():
    wanted = [item.id for item in FILTERS]
    assert [item["filter"] for item in parse_breaks(["all"]).filters] == wanted
    assert {item["condition"] for item in parse_breaks(["all:step > 3"]).filters} == {"step > 3"}


@pytest.mark.parametrize(
    ("option", "wanted"),
    [
        ("module:encoder.*", {"name": "module:encoder.*"}),
        ("op:aten.softmax if nan > 0", {"name": "op:aten.softmax", "condition": "nan > 0"}),
        ("step", {"name": "step"}),
        ("step:12", {"name": "step:12"}),
        (
            "backward:fc if x if step else 0",
            {"name": "backward:fc", "condition": "x if step else 0"},
        ),
    ],
)
def test_breakpoints_by_name(option: str, wanted: object):
    breaks = parse_breaks([option])
    assert breaks.filters == []
    assert breaks.functions == [wanted]


def problem(option: str) -> str:
    with pytest.raises(UsageProblem) as caught:
        parse_breaks([option])
    return str(caught.value)


def test_the_nearest_filter_is_offered():
    text = problem("nonfinit")
    assert "'nonfinit'" in text
    assert "Did you mean 'nonfinite'?" in text


def test_what_is_near_nothing_gets_the_list_only():
    text = problem("zzz")
    assert "Did you mean" not in text
    assert "nonfinite (NaN or Inf)" in text


def test_a_condition_with_a_mistake_is_shown_with_a_caret():
    _, condition, caret = problem("nonfinite:step > > 3").splitlines()
    assert condition.strip() == "step > > 3"
    assert condition[caret.index("^")] == ">"
    assert caret.index("^") == condition.index("> 3")


def test_the_caret_stays_within_an_unfinished_condition():
    text = problem("nonfinite:norm >")
    _, condition, caret = text.splitlines()
    assert caret.index("^") <= len(condition)


def test_a_colon_without_condition():
    assert "nothing follows the colon" in problem("nonfinite:")


def test_a_name_without_a_name_and_a_condition_without_one():
    assert "nothing follows the colon" in problem("module:")
    assert "nothing follows 'if'" in problem("module:fc if ")
    assert "step >" in problem("module:fc if step >")


def test_a_filters_condition_may_follow_if_as_well():
    assert parse_breaks(["nonfinite if step > 3"]).filters == [
        {"filter": "zentracer.nonfinite", "condition": "step > 3"}
    ]


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("module:encoder.1:norm > 3", "a condition follows ' if '"),
        ("module:encoder.1 if", "nothing follows 'if'"),
        ("Module:encoder.1", "Did you mean 'module"),
        ("steps:5", "Did you mean 'step"),
        ("step=2", "Did you mean 'step:2'?"),
        ("nonfinit", "Did you mean 'nonfinite'?"),
        ("Net.forward", "Python functions can be named in an editor only."),
    ],
)
def test_what_is_nearly_right_is_told_so(option: str, said: str):
    assert said in problem(option).splitlines()[0]


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (
            "No model is alive yet; the breakpoint becomes active when a module 'a.b' is called.",
            "a module 'a.b' was never called.",
        ),
        (
            "No module matches 'a' yet; the breakpoint becomes active when one does. Similar "
            "names: b.",
            "No module matches 'a'. Similar names: b.",
        ),
    ],
)
def test_what_was_never_there_is_said_in_the_past(told: str, said: str):
    assert at_the_end(told) == said
