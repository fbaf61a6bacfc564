"""Messages of log points: how they are read and what they say."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from zentracer.control.log_message import MOST, LogMessage


class Bad:
    def __str__(self) -> str:
        raise ValueError("no text\nat all")


def said(message: str, **names: Any) -> str:
    space = {"__builtins__": __builtins__, "sys": sys, **names}
    frame = eval("sys._getframe()", space)
    return LogMessage(message).text(frame)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("plain", "plain"),
        ("x is {x}", "x is 3"),
        ("{x}{y}", "3[1, 2]"),
        ("{{x}} }} {{", "{x} } {"),
        ("{ x + 1 } {y[0:1]}", "4 [1]"),
        ("{{'a': x}['a']}", "{'a': x}['a']}"),
        ("{ {'a': x}['a'] }", "3"),
        ("{'}'} {x}", "} 3"),
        ("{f'{x}'}", "3"),
        ("{x:.2f}|{x:>5}|{x:{width}}", "3.00|    3|    3"),
        ("{x:=10}|{x:=10,}|{x:=}|{(x:=10)}|{[y:=4][0]}", "         3|         3|3|10|4"),
        ("{name!r} {name}", "'n' n"),
        ("{x=} {x + 1 = }", "x=3 x + 1 = 4"),
        ("{x == 3} {x != 3} {(lambda a: a)(x)}", "True False 3"),
        ("{}", ""),
        ("open { and { x", "open { and { x"),
        ("{x +} {x}", "<'x +' is no expression> 3"),
        ("{missing} {x}", "<NameError: name 'missing' is not defined> 3"),
        ("{exit()} {x}", "<SystemExit> 3"),
        ("{bad} {1 / 0}", "<ValueError: no text> <ZeroDivisionError: division by zero>"),
        ("{x:q}", "<ValueError: Unknown format code 'q' for object of type 'int'>"),
        ("{zt.max([x, 7])} {zt.nan(x)}", "7.0 0"),
    ],
)
def test_messages(message: str, expected: str) -> None:
    text = said(message, x=3, y=[1, 2], name="n", width=5, bad=Bad())
    assert text == expected or text == expected.replace("<SystemExit>", "<SystemExit: None>")


def test_long_values_are_cut() -> None:
    assert said("{x}", x="a" * (MOST + 1)) == "a" * MOST + "…"


def test_tensors_read_as_their_summary() -> None:
    torch = pytest.importorskip("torch")
    weight = torch.tensor([[0.0, 1, 2], [3, 4, 5]], requires_grad=True)
    loss = weight.mean() + 0.1
    text = said(
        "loss {loss} weights {weight} {many} {loss:.2f} {one:.1f} {weight:.2f}",
        loss=loss, weight=weight, many=[weight], one=torch.ones(1),
    )  # fmt: skip
    assert text == (
        "loss 2.6 weights float32[2, 3] cpu · x∈[0, 5] μ=2.5 σ=1.87 · leaf [float32[2, 3]] 2.60 "
        "1.0 <TypeError: the format '.2f' needs one number, not float32[2, 3] cpu · x∈[0, 5] "
        "μ=2.5 σ=1.87 · leaf>"
    )


def test_arrays_read_as_their_summary() -> None:
    numpy = pytest.importorskip("numpy")
    text = said("{a} {n} {n:.3f}", a=numpy.ones((2, 2)), n=numpy.array(0.5))
    assert text == "float64[2, 2] cpu · x∈[1, 1] μ=1 σ=0 0.5 0.500"
