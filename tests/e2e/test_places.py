"""Line breakpoints in every place where code runs: tests/programs/places, one program a place."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from cases import Case
from conftest import PROGRAMS
from dap_client import Client
from visits import Visits, lines_at

PLACES = sorted(set((PROGRAMS / "places").glob("*.py")) - {PROGRAMS / "places" / "torch_ranks.py"})
PLAIN = [path for path in PLACES if not path.stem.startswith("torch_")]
OTHERS = ("3.12", "3.13")


def stops_of(case: Case) -> int:
    return int(case.fields["stops"])


def check_every_stop(client: Client, path: Path, python: str) -> None:
    case = Case(path)
    lines = case.lines("breakpoint")
    visits = Visits(client, {path: lines}, lines_at)
    assert visits.run(program=path, python=python) == 0
    assert len(visits.found) == stops_of(case)
    assert set(visits.found) == set(lines)


def check_condition(client: Client, path: Path, python: str) -> None:
    case = Case(path)
    condition, _, count = case.fields["condition"].partition(" -> ")
    wanted = [{"line": line, "condition": condition} for line in case.lines("breakpoint")]
    visits = Visits(client, {path: wanted}, lines_at)
    assert visits.run(program=path, python=python) == 0
    assert len(visits.found) == int(count)


@pytest.mark.parametrize("path", PLACES, ids=lambda path: path.stem)
def test_a_breakpoint_is_hit(client: Client, path: Path) -> None:
    check_every_stop(client, path, sys.executable)


@pytest.mark.parametrize(
    "path", [p for p in PLACES if "condition" in Case(p).fields], ids=lambda path: path.stem
)
def test_a_condition_holds_there(client: Client, path: Path) -> None:
    check_condition(client, path, sys.executable)


@pytest.mark.parametrize("interpreter", OTHERS, indirect=True)
@pytest.mark.parametrize("path", PLAIN, ids=lambda path: path.stem)
def test_on_other_interpreters(client: Client, path: Path, interpreter: str) -> None:
    check_every_stop(client, path, interpreter)
