from __future__ import annotations

import base64
import datetime
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from sample_findings import info, write_source

from zentracer_dap.environment import Environment
from zentracer_dap.headless.finding import Findings, read_finding
from zentracer_dap.headless.report import report_page, write_report

MADE = datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.timezone.utc)
VOID = {"meta"}


class Page(HTMLParser):
    """Collects elements and complains about tags that do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.marked: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self._open and self._open[-1] == "mark":
            self.marked.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self) -> str:
        return "".join(self.texts)


def page(*bodies: dict[str, Any], folder: Path = Path("/")) -> str:
    findings = Findings()
    for body in bodies:
        findings.add(read_finding(body))
    environment = Environment("3.11.7", "Linux", {"torch": "2.13.0"})
    return report_page(findings, ["python", "train.py", "a b"], environment, MADE, folder)


@pytest.fixture
def body(tmp_path: Path) -> dict[str, Any]:
    return info(write_source(tmp_path))


def test_the_page_loads_and_runs_nothing(body: dict[str, Any]):
    text = page(body)
    parsed = Page(text)
    assert not re.search(r"(https?:)?//", text)
    names = {name for name, _ in parsed.elements}
    assert not names & {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
    for name, attributes in parsed.elements:
        assert not {"src", "style", "srcset"} & set(attributes), name
        assert not [key for key in attributes if key.startswith("on")], name
        assert (attributes.get("href") or "#").startswith("#")


def test_the_policy_allows_this_style_and_nothing_else(body: dict[str, Any]):
    text = page(body)
    (policy,) = [
        meta["content"]
        for meta in Page(text).all("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy is not None
    style = text.split("<style>")[1].split("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy.split("; ") == [
        "default-src 'none'",
        f"style-src 'sha256-{digest}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]


def test_both_colour_schemes(body: dict[str, Any]):
    assert "prefers-color-scheme: dark" in page(body)


def test_what_the_page_says(body: dict[str, Any], tmp_path: Path):
    parsed = Page(page(body, folder=tmp_path))
    assert parsed.marked == ["torch.sqrt(squared)"]
    for part in [
        "Inf in gradient of torch.sqrt (backward, step 41): 2 of 4096 elements",
        "train.py:14",
        "grad of squared",
        "- distance = torch.sqrt(squared)",
        "+ distance = torch.sqrt(squared + 1e-12)",
        "python train.py 'a b'",
        "torch 2.13.0",
        "3.11.7",
    ]:
        assert part in parsed.text


def test_markup_in_the_users_program_stays_text(body: dict[str, Any], tmp_path: Path):
    evil = '<script>alert("1")</script>'
    path = tmp_path / "evil.py"
    path.write_text(f"x = 1  # {evil}\n")
    hit = body["details"]["zentracer"]
    hit["origin"] = {"path": str(path), "line": 1, "column": 1, "end_column": 40, "end_line": 1}
    hit["op"] = hit["module"] = hit["note"] = hit["tensor"]["name"] = evil
    hit["suggestions"][0]["title"] = hit["suggestions"][0]["edit"]["new_text"] = evil
    body["details"]["message"] = evil
    parsed = Page(page(body))
    assert not parsed.all("script")
    assert parsed.text.count(evil) >= 7


def test_several_findings_are_listed_with_links_that_exist(body: dict[str, Any], tmp_path: Path):
    other = info(tmp_path / "train.py")
    other["details"]["zentracer"]["origin"]["line"] = 9
    parsed = Page(page(body, other))
    targets = [link["href"] for link in parsed.all("a")]
    assert targets == [f"#{article['id']}" for article in parsed.all("article")]
    assert len(targets) == 2


def test_extreme_numbers_give_finite_drawings(body: dict[str, Any]):
    tensor = body["details"]["zentracer"]["tensor"]
    tensor.update(min=-1.7e308, max=1.7e308, mean=0.0, std=1e308)
    tensor.update(nan=4095, inf=1, zeros=0)
    parsed = Page(page(body))
    bars = parsed.all("rect")
    assert bars
    for attributes in [*bars, *parsed.all("circle"), *parsed.all("line")]:
        numbers = [float(v) for k, v in attributes.items() if k in "x y x1 cx width" and v]
        assert all(-1 <= n <= 200 for n in numbers), attributes


def test_unknown_statistics_are_drawn_as_nothing(body: dict[str, Any]):
    hit = body["details"]["zentracer"]
    hit["inputs"] = []
    for name in ("min", "max", "mean", "std", "nan", "inf", "zeros"):
        hit["tensor"][name] = None
    assert not Page(page(body)).all("svg")


def test_nothing_found():
    parsed = Page(page())
    assert "Nothing found" in parsed.text
    assert not parsed.all("article")


def test_writing_leaves_one_file(tmp_path: Path):
    target = tmp_path / "out.html"
    target.write_text("old")
    write_report(target, "new")
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]
