"""What the runtime answers to lists of breakpoints, before any framework is there."""

from __future__ import annotations

from typing import List, Optional

import pytest

from zentracer.armed import Armed
from zentracer.frameworks.base import Framework
from zentracer.wire.messages import (
    BreakpointStatus,
    DataBreakpoint,
    ExceptionFilter,
    FunctionBreakpoint,
    SetDataBreakpoints,
    SetExceptionFilters,
    SetFunctionBreakpoints,
)


class Owner:
    """A runtime without frameworks."""

    def frameworks(self) -> List[Framework]:
        return []

    def step_aside(self, framework: Framework, error: Exception) -> None:
        raise error

    def settled(self, status: BreakpointStatus) -> None:
        raise AssertionError(status)


def answer(kind: str, condition: Optional[str], hits: Optional[str] = None) -> BreakpointStatus:
    armed = Armed(Owner(), precise=False)
    if kind == "filter":
        one = ExceptionFilter(id=1, filter="zentracer.exploding", condition=condition)
        told = armed.set_filters(SetExceptionFilters(filters=(one,)))
    elif kind == "data":
        data = DataBreakpoint(id=1, data_id="x", condition=condition, hit_condition=hits)
        told = armed.set_data(SetDataBreakpoints(breakpoints=(data,)))
    else:
        name = "1" if kind == "step" else "nobody.knows.it"
        function = FunctionBreakpoint(
            id=1, kind=kind, name=name, condition=condition, hit_condition=hits
        )
        told = armed.set_functions(SetFunctionBreakpoints(breakpoints=(function,)))
        armed.set_functions(SetFunctionBreakpoints(breakpoints=()))
    return told.breakpoints[0]


@pytest.mark.parametrize(
    ("kind", "condition", "said"),
    [
        ("filter", "changed > 1", "data breakpoints only"),
        ("module", "changed > 1", "data breakpoints only"),
        ("op", "step > 3 and ratio > 1", "exploding and stalled only"),
        ("backward", "ratio > 1", "exploding and stalled only"),
        ("data", "ratio > 1", "exploding and stalled only"),
        ("step", "norm > 1", "'norm' is not known at a step"),
        ("step", "match('encoder')", "'module' is not known at a step"),
    ],
)
def test_names_that_can_never_be_known_are_refused(kind: str, condition: str, said: str) -> None:
    status = answer(kind, condition)
    assert (status.verified, status.pending) == (False, False)
    assert said in (status.message or "")


@pytest.mark.parametrize(
    ("kind", "condition"),
    [
        ("filter", "ratio > 1"),
        ("module", "norm > 1 and epoch == 2"),
        ("data", "changed > 1"),
        ("step", "epoch == 2 and rank == 0"),
        ("python", "ratio > changed"),
        ("python", None),
    ],
)
def test_others_are_taken(kind: str, condition: Optional[str]) -> None:
    status = answer(kind, condition)
    assert status.verified or status.pending


@pytest.mark.parametrize(
    ("condition", "hits", "said"),
    [
        ("len(x) >", None, "The condition 'len(x) >' could not be evaluated"),
        ("x = 3", None, "The condition 'x = 3' could not be evaluated"),
        (None, "often", "The hit condition 'often' is not valid"),
    ],
)
def test_a_python_function_says_its_mistakes_at_once(
    condition: Optional[str], hits: Optional[str], said: str
) -> None:
    status = answer("python", condition, hits)
    assert (status.verified, status.pending) == (False, False)
    assert (status.message or "").startswith(said)
