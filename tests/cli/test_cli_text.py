from __future__ import annotations

import io
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from sample_findings import info, write_source

from zentracer_dap.headless import figures
from zentracer_dap.headless.finding import Findings, read_finding
from zentracer_dap.headless.palette import Palette, display_width, palette_for
from zentracer_dap.headless.terminal import render, render_again

EXPECTED = """\

● NaN or Inf  backward · step 41 · encoder.head
  Inf in gradient of torch.sqrt (backward, step 41): 2 of 4096 elements

  train.py:7 in contrastive
     4 │ def contrastive(left, right, same, margin=1.0):
     5 │     diff = left - right
     6 │     squared = diff.pow(2).sum(dim=1)
  ▶  7 │     distance = torch.sqrt(squared)
       │                ^^^^^^^^^^^^^^^^^^^
     8 │     pull = same * distance.pow(2)
     9 │     push = (1 - same) * torch.relu(margin - distance).pow(2)
    10 │     return (pull + push).mean()
  The program stands at train.py:14  loss.backward()

          name             tensor             min   max   mean   std  NaN          Inf         zeros
  result  grad of squared  float32[4096]  -0.0316  3.79  0.412  0.88    0  2 (< 0.1 %)  1,024 (25 %)
  input   squared          float32[4096]        0  12.5    1.9   2.4    0            0   2 (< 0.1 %)

  Finite before: The loss (0.731) and every value of the forward pass were finite.

  Stack (innermost first)
    train.py:14  <module>  loss.backward()

  What to try
    1. Keep sqrt away from zero
       The derivative of sqrt is 1 / (2 sqrt(x)), which is infinite at 0; 2 elements of squared are
       0 because both items of a pair are the same.
       train.py:7
       - distance = torch.sqrt(squared)
       + distance = torch.sqrt(squared + 1e-12)
    2. Leave the root out
       pull uses the square of distance only.

"""


@pytest.fixture
def body(tmp_path: Path) -> dict[str, Any]:
    return info(write_source(tmp_path))


def hit(body: dict[str, Any]) -> dict[str, Any]:
    return body["details"]["zentracer"]


def test_a_whole_finding(body: dict[str, Any], tmp_path: Path):
    assert render(read_finding(body), Palette(), tmp_path) == EXPECTED


def test_colour_changes_nothing_but_colour(body: dict[str, Any], tmp_path: Path):
    text = render(read_finding(body), Palette(colour=True), tmp_path)
    assert "\033[1;31mtorch.sqrt(squared)\033[0m" in text
    assert re.sub(r"\033\[[\d;]*m", "", text) == EXPECTED


def test_plain_signs_where_the_terminal_has_no_others(body: dict[str, Any], tmp_path: Path):
    hit(body)["tensor"]["min"] = None
    text = render(read_finding(body), Palette(unicode=False), tmp_path)
    assert text.isascii()
    assert ">  7 |" in text


def test_what_the_runtime_left_out_leaves_no_gap(body: dict[str, Any], tmp_path: Path):
    for name in ("step", "module", "finite_before"):
        hit(body)[name] = None
    for name in ("inputs", "suggestions", "stack"):
        hit(body)[name] = []
    text = render(read_finding(body), Palette(), tmp_path)
    assert "Stack" not in text
    assert "What to try" not in text
    assert "None" not in text
    assert "\n\n\n" not in text


def test_a_finding_where_the_program_stands_does_not_say_so_twice(body: dict[str, Any]):
    hit(body)["source"] = hit(body)["origin"]
    text = render(read_finding(body), Palette(), Path("/"))
    assert "The program stands" not in text


def test_the_caret_stands_under_wide_characters(tmp_path: Path, body: dict[str, Any]):
    path = tmp_path / "wide.py"
    path.write_text("名前 = torch.log(x)\n")
    place = {"path": str(path), "line": 1, "column": 6, "end_line": 1, "end_column": 18}
    hit(body)["origin"] = place
    lines = render(read_finding(body), Palette(), tmp_path).splitlines()
    index = next(i for i, line in enumerate(lines) if "torch.log(x)" in line)
    code, carets = lines[index], lines[index + 1]
    assert display_width(code[: code.index("torch")]) == display_width(carets[: carets.index("^")])
    assert carets.count("^") == len("torch.log(x)")


def test_another_rank_is_shown_in_brief(body: dict[str, Any], tmp_path: Path):
    hit(body)["rank"] = 1
    text = render_again(read_finding(body), Palette(), tmp_path)
    assert "rank 1" in text
    assert "train.py:7" in text
    assert len(text.splitlines()) == 4


def test_the_same_line_again_is_counted(body: dict[str, Any]):
    findings = Findings()
    assert findings.add(read_finding(body)) is None
    again = findings.add(read_finding(body))
    assert again is findings.items[0]
    assert again.count == 2
    hit(body)["rank"] = 1
    other = read_finding(body)
    assert findings.add(other) is None
    assert findings.elsewhere(other) is findings.items[0]
    hit(body)["origin"]["line"] = 8
    assert findings.add(read_finding(body)) is None
    assert len(findings) == 3


@pytest.mark.parametrize(
    ("variables", "tty", "colour"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_colour_only_where_it_is_wanted(
    variables: dict[str, str], tty: bool, colour: bool, monkeypatch: pytest.MonkeyPatch
):
    for name, value in {"NO_COLOR": "", "TERM": "xterm", **variables}.items():
        monkeypatch.setenv(name, value)
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(stream, "isatty", lambda: tty)
    assert palette_for(stream, 100).colour is colour


def test_signs_follow_the_streams_encoding():
    assert palette_for(io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), 100).unicode
    assert not palette_for(io.TextIOWrapper(io.BytesIO(), encoding="latin-1"), 100).unicode


@pytest.mark.parametrize(
    ("part", "size", "expected"),
    [
        (0, 10, "0"),
        (None, 10, figures.NOT_KNOWN),
        (10, 10, "10 (100 %)"),
        (9999, 10000, "9,999 (99.9 %)"),
        (1, 4096, "1 (< 0.1 %)"),
        (12, 4096, "12 (0.3 %)"),
        (1, 1, "1"),
    ],
)
def test_shares(part: int | None, size: int, expected: str):
    assert figures.share(part, size) == expected


def test_combining_marks_take_no_column():
    text = unicodedata.normalize("NFD", "é")
    assert len(text) == 2
    assert display_width(text) == 1
