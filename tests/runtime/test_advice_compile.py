"""Graph breaks: told at the line that torch.compile cannot trace; meant ones are not."""

from __future__ import annotations

import logging
import runpy
from pathlib import Path
from typing import Any, Callable

import pytest

pytest.importorskip("torch")

import torch
import torch._dynamo
from cases import Case, cases

from tests.runtime.advising import Programs
from tests.runtime.watching import Host, watching_for

PROGRAMS = Programs()
(CASE,) = cases("pytorch_compile_graph_break_item.py")


@pytest.fixture(autouse=True)
def fresh_dynamo() -> None:
    torch._dynamo.reset()


def call(function: Callable[..., Any]) -> Any:
    torch._dynamo.reset()
    return torch.compile(function, backend="eager")(torch.ones(3, 3))


@PROGRAMS.gives("graph_break")
def item() -> Any:
    def scaled(x: Any) -> Any:
        return x / max(x.abs().max().item(), 1.0)  # <- here

    return call(scaled)


@PROGRAMS.gives("graph_break")
def branch() -> Any:
    def chosen(x: Any) -> Any:
        if x.sum() > 0:  # <- here
            return x + 1
        return x - 1

    return call(chosen)


@PROGRAMS.gives("graph_break")
def said() -> Any:
    def noisy(x: Any) -> Any:
        logging.getLogger("quiet").debug("x")  # <- here
        return x + 1

    return call(noisy)


@PROGRAMS.gives("graph_break")
def opened() -> Any:
    def reading(x: Any) -> Any:
        with open(__file__):  # <- here
            return x + 1

    return call(reading)


@PROGRAMS.gives("graph_break")
def selected() -> Any:
    def positive(x: Any) -> Any:
        return x[torch.nonzero(x)[:, 0]].sum()  # <- here

    return call(positive)


@PROGRAMS.silent
def whole() -> Any:
    def scaled(x: Any) -> Any:
        return x / x.abs().max().clamp(min=1.0)

    return call(scaled)


@PROGRAMS.silent
def shapes_decide() -> Any:
    def chosen(x: Any) -> Any:
        return x + 1 if x.shape[0] > 2 else x - 1

    return call(chosen)


@PROGRAMS.silent
def meant() -> Any:
    def split(x: Any) -> Any:
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2

    return call(split)


@torch.compiler.disable
def plain(x: Any) -> Any:
    return x + 1


@PROGRAMS.silent
def left_out() -> Any:
    def partly(x: Any) -> Any:
        return plain(x) * 2

    return call(partly)


@pytest.mark.parametrize("name", PROGRAMS.faulty)
def test_faulty(name: str) -> None:
    PROGRAMS.check_faulty(name)


@pytest.mark.parametrize("name", PROGRAMS.healthy)
def test_healthy(name: str) -> None:
    PROGRAMS.check_healthy(name)


def run(path: Path) -> Host:
    with watching_for("nonfinite", advice=True) as host:
        runpy.run_path(str(path), run_name="__main__")
    assert host.notices == []
    return host


def test_the_case_is_told_at_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    host = run(CASE.path)
    assert "symptom: present" in capsys.readouterr().out
    [advice] = host.advice
    assert advice.rule == "graph_break"
    assert advice.details.origin.line == CASE.lines("culprit")[0]
    assert "Tensor.item()" in advice.text and "forward" in advice.text


def test_its_twin_is_silent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    host = run(Case(CASE.path).twin(tmp_path))
    assert "symptom: absent" in capsys.readouterr().out
    assert host.advice == []


def test_nothing_stays_behind() -> None:
    record = torch._dynamo.output_graph.GraphCompileReason
    before = record.__dict__["__post_init__"]
    with watching_for("nonfinite", advice=True):
        assert record.__dict__["__post_init__"] is not before
    assert record.__dict__["__post_init__"] is before
