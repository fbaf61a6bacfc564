"""Every seeded fault is blamed on its line, every healthy program is left alone."""

from __future__ import annotations

import inspect

import pytest

pytest.importorskip("torch")

from programs import seeded
from watching import watching


def bad_line(function: object) -> int:
    lines, first = inspect.getsourcelines(function)  # type: ignore[arg-type]
    (line,) = [first + i for i, text in enumerate(lines) if "# @bad" in text]
    return line


@pytest.mark.parametrize("precise", [False, True], ids=["normal", "precise"])
@pytest.mark.parametrize("name", seeded.FAULTS)
def test_fault_is_blamed_on_its_line(name: str, precise: bool) -> None:
    function, op = seeded.FAULTS[name]
    with watching(precise=precise) as host:
        function()
    assert not host.notices
    assert host.hits, "no finding"
    first = host.hits[0].details
    assert (first.origin.line, first.op) == (bad_line(function), op)
    assert first.suggestions


@pytest.mark.parametrize("precise", [False, True], ids=["normal", "precise"])
@pytest.mark.parametrize("name", seeded.HEALTHY)
def test_healthy_program_is_left_alone(name: str, precise: bool) -> None:
    with watching(precise=precise) as host:
        seeded.HEALTHY[name]()
    assert not host.notices
    assert [hit.text for hit in host.hits] == []
