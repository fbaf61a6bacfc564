"""The condition language of tensor breakpoints."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zentracer.control.condition import (
    FUNCTIONS,
    NAMES,
    ConditionError,
    ConditionFailed,
    compile_condition,
)

VALUES: dict[str, Any] = {
    "module": "encoder.layers.3",
    "op": "log",
    "phase": "forward",
    "step": 41,
    "epoch": None,
    "rank": 0,
    "x": 2.0,
    "name": "h",
    "shape": (8, 3),
    "dtype": "float32",
    "device": "cpu",
    "size": 24,
    "min": -1.0,
    "max": 3.0,
    "mean": 0.5,
    "std": 1.0,
    "absmax": 3.0,
    "norm": 120.0,
    "nan": 0,
    "inf": 2,
    "zeros": 0,
    "ratio": 0.01,
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('norm > 100 and match("encoder.*") and step > 10', True),
        ('match("decoder.*")', False),
        ("inf or nan", True),
        ("-1 <= min < max", True),
        ("shape[0] == 8 and len(shape) == 2", True),
        ("all(side > 2 for side in shape)", True),
        ("any(side > norm for side in shape)", False),
        ("max([1, 2][0:1]) if False else abs(min) == 1", None),
        ("phase in ('forward', 'loss')", True),
        ("epoch is None and not rank", True),
        ("x.is_integer()", True),
        ("  step % 2  ", True),
        ("sum(n for n in shape if n > 3) == 8", True),
        ("{'float32': 1}[dtype]", True),
    ],
)
def test_evaluate(text: str, expected: bool | None) -> None:
    if expected is None:
        with pytest.raises(ConditionError, match="'max' is a value here"):
            compile_condition(text)
    else:
        assert compile_condition(text).evaluate(VALUES) is expected


def test_names_are_the_ones_it_uses() -> None:
    assert compile_condition("norm > 100 and match('a')").names == {"norm", "match", "module"}
    assert compile_condition("len(shape) > 1").names == {"shape"}


def test_values_are_asked_for_only_when_they_are_reached() -> None:
    asked = []

    def value(name: str) -> Any:
        asked.append(name)
        return VALUES[name]

    assert not compile_condition("step > 100 and norm > 1").evaluate(value)
    assert asked == ["step"]


def test_a_tensor_holds_with_any_true_element() -> None:
    numpy = pytest.importorskip("numpy")
    x = numpy.array([1, 3])
    assert compile_condition("x > 2").evaluate({"x": x}) is True
    assert compile_condition("x > 3").evaluate({"x": x}) is False
    assert compile_condition("x").evaluate({"x": numpy.zeros(0)}) is False


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("nomr > 1", "Did you mean 'norm'?"),
        ("__import__('os')", "'__import__' is not a name"),
        ("open('f')", "'open' is not a name"),
        ("qqqq", "The names are module, op"),
        ("step >", "syntax error"),
        ("step = 4", "Write == to compare."),
        ("phase == forward", "write 'forward' in quotes"),
        ("phase == 'foward'", "a phase is one of 'forward'"),
        ("x.__class__", "private attribute '__class__'"),
        ("x._base is None", "private attribute '_base'"),
        ("x.zero_()", "'zero_' changes the tensor"),
        ("(lambda: 1)()", "a lambda"),
        ("(y := 3)", "an assignment"),
        ("f'{x}'", "an f-string"),
        ("[min for min in shape]", "'min' is a name of conditions"),
        ("norm() > 1", "'norm' is a value here and cannot be called"),
        ("import os", "syntax error"),
        ("step\0", "null bytes"),
        ("(" * 500 + "x" + ")" * 500, "The condition"),
        ("-" * 5000 + "x", "The condition"),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    with pytest.raises(ConditionError) as error:
        compile_condition(text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("epoch > 3", "epoch is not known here"),
        ("1 / zeros", "ZeroDivisionError"),
        ("x[0]", "TypeError"),
    ],
)
def test_failures_while_evaluating(text: str, message: str) -> None:
    with pytest.raises(ConditionFailed) as error:
        compile_condition(text).evaluate(VALUES)
    assert message in str(error.value) and text in str(error.value)


def test_a_tensor_inside_of_and_is_explained() -> None:
    numpy = pytest.importorskip("numpy")
    with pytest.raises(ConditionFailed, match=r"\.any\(\)"):
        compile_condition("x > 2 and step").evaluate({"x": numpy.array([1, 3]), "step": 1})


@given(st.text(max_size=40))
def test_any_text_is_a_condition_or_an_error(text: str) -> None:
    try:
        names = compile_condition(text).names
    except ConditionError as error:
        assert str(error).endswith((".", "?"))
    else:
        assert names <= NAMES


ATOMS = st.sampled_from([*sorted(NAMES - {"match"}), *FUNCTIONS, "1", "0.5", "'a'", "None", "i"])
OPERATORS = ["+", "-", ">", "<", "==", "and", "or", "in"]
TEXTS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(OPERATORS), inner),
        st.builds("{}[{}]".format, inner, inner),
        st.builds("{}({})".format, inner, inner),
        st.builds("{}.{}".format, inner, st.sampled_from(["any", "shape", "add_", "__dict__"])),
        st.builds("any({} for i in ({},))".format, inner, inner),
    ),
    max_leaves=8,
)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@given(TEXTS)
def test_what_compiles_evaluates_or_fails_with_a_sentence(text: str) -> None:
    try:
        condition = compile_condition(text)
    except ConditionError:
        return
    attributes = [n.attr for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Attribute)]
    assert not any(name.startswith("_") or name.endswith("_") for name in attributes)
    try:
        assert condition.evaluate(VALUES) in (True, False)
    except ConditionFailed as error:
        assert text in str(error)
