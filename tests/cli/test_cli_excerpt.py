from __future__ import annotations

from pathlib import Path

import pytest

from zentracer.wire.messages import Location, TextEdit
from zentracer_dap.headless.excerpt import Line, edit_lines, excerpt


def marked(lines: list[Line]) -> list[str]:
    return [line.text[slice(*line.mark)] for line in lines if line.mark]


def at(path: Path, line: int, *columns: int) -> Location:
    if not columns:
        return Location(path=str(path), line=line)
    column, end_line, end_column = columns
    return Location(
        path=str(path), line=line, column=column, end_line=end_line, end_column=end_column
    )


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "code.py"
    path.write_text(
        "a = 1\n\nx = torch.sqrt(\n    y,\n    out=z,\n) + 1\n\n\tb = torch.log(c)\nd = 2\n"
    )
    return path


def test_the_columns_are_marked(source: Path):
    lines = excerpt(at(source, 1, 5, 1, 6), around=0)
    assert lines == [Line(1, "a = 1", (4, 5), blamed=True)]


def test_an_expression_over_several_lines(source: Path):
    lines = excerpt(at(source, 3, 5, 6, 2), around=1)
    assert marked(lines) == ["torch.sqrt(", "y,", "out=z,", ")"]
    assert [line.number for line in lines if line.blamed] == [3, 4, 5, 6]


def test_tabs_move_the_mark_along(source: Path):
    (line,) = excerpt(at(source, 8, 6, 8, 18), around=0)
    assert line.text == "    b = torch.log(c)"
    assert marked([line]) == ["torch.log(c)"]


def test_without_columns_the_line_is_blamed_but_nothing_marked(source: Path):
    (line,) = excerpt(at(source, 1), around=0)
    assert line.blamed
    assert line.mark is None


def test_columns_beyond_the_line_are_cut(source: Path):
    (line,) = excerpt(at(source, 1, 5, 1, 99), around=0)
    assert marked([line]) == ["1"]


def test_columns_of_another_version_of_the_file_mark_nothing(source: Path):
    (line,) = excerpt(at(source, 1, 50, 1, 60), around=0)
    assert line.mark is None


def test_blank_lines_at_the_ends_are_left_out(source: Path):
    assert [line.number for line in excerpt(at(source, 1), around=1)] == [1]


def test_a_file_that_is_gone_shows_what_was_reported(tmp_path: Path):
    location = Location(path=str(tmp_path / "gone.py"), line=7, text="x = f(y)")
    assert excerpt(location) == [Line(7, "x = f(y)", None, blamed=True)]


def test_a_file_that_is_gone_and_no_text(tmp_path: Path):
    assert excerpt(Location(path=str(tmp_path / "gone.py"), line=7)) == []


def test_an_edit_is_shown_without_its_indentation():
    edit = TextEdit(path="t.py", line=3, old_text="    a = b", new_text="    if b:\n        a = b")
    assert edit_lines(edit) == (["a = b"], ["if b:", "    a = b"])


def test_an_edit_that_removes_the_line():
    edit = TextEdit(path="t.py", line=3, old_text="    a = b", new_text="")
    assert edit_lines(edit) == (["a = b"], [])
