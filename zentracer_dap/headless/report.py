"""``--report``: the findings as one HTML file that loads nothing and runs nothing."""

from __future__ import annotations

import base64
import datetime
import hashlib
import os
import shlex
from importlib import metadata
from importlib.resources import files
from pathlib import Path

from zentracer_dap.environment import FRAMEWORKS, Environment
from zentracer_dap.headless import figures
from zentracer_dap.headless.finding import Finding, Findings
from zentracer_dap.headless.markup import EMPTY, Markup, join, tag
from zentracer_dap.headless.report_parts import article


def write_report(path: Path, page: str) -> None:
    """Write the page; a reader never sees half of it."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(page, encoding="utf-8")
    os.replace(part, path)


def report_page(
    findings: Findings,
    command: list[str],
    environment: Environment | None,
    made: datetime.datetime,
    folder: Path,
) -> str:
    """The whole page.

    Args:
        findings: what was found, possibly nothing.
        command: the program as it was started.
        environment: the interpreter that ran it, None if it is not known.
        made: when the run ended.
        folder: shown paths are relative to it.
    """
    style = files("zentracer_dap.headless").joinpath("report.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    items = findings.items
    head = tag(
        "head",
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="referrer" content="no-referrer">'),
        tag("title", _title(items)),
        tag("style", Markup(style)),
    )
    body = tag(
        "body",
        _top(made),
        _overview(items, folder),
        *(article(item, number, folder) for number, item in enumerate(items, 1)),
        _footer(command, environment),
    )
    return "<!doctype html>\n" + tag("html", head, body, lang="en") + "\n"


def _title(items: list[Finding]) -> str:
    if not items:
        return "Nothing found – ZenTracer"
    origin = items[0].details.origin
    more = f" and {len(items) - 1} more" if len(items) > 1 else ""
    return f"{items[0].label} at {Path(origin.path).name}:{origin.line}{more} – ZenTracer"


def _top(made: datetime.datetime) -> Markup:
    brand = tag("span", "ZenTracer", class_="brand")
    stamp = made.isoformat(timespec="seconds")
    return tag("header", brand, tag("time", f"{made:%Y-%m-%d %H:%M}", datetime=stamp), class_="top")


def _overview(items: list[Finding], folder: Path) -> Markup:
    if not items:
        text = "Every number that was looked at was finite, or outside the given conditions."
        return tag("main", tag("h1", "Nothing found"), tag("p", text), class_="nothing")
    if len(items) == 1:
        return EMPTY
    rows = [_overview_row(item, number, folder) for number, item in enumerate(items, 1)]
    return tag("nav", tag("h3", f"{len(items)} findings"), tag("ol", *rows), class_="list")


def _overview_row(item: Finding, number: int, folder: Path) -> Markup:
    details = item.details
    when = ", ".join(figures.context(details.phase, details.step, details.rank, None))
    link = tag(
        "a",
        tag("span", str(number), class_="soft"),
        tag("b", item.label),
        tag("span", figures.place(details.origin, folder), class_="mono grow"),
        tag("span", when, class_="soft"),
        href=f"#finding-{number}",
    )
    return tag("li", link)


def _footer(command: list[str], environment: Environment | None) -> Markup:
    facts = {"Command": shlex.join(command)}
    if environment is not None:
        facts["Python"] = f"{environment.python}, {environment.platform}"
        found = [(n, environment.versions[n]) for n in FRAMEWORKS if n in environment.versions]
        facts["Packages"] = ", ".join(f"{name} {version}" for name, version in found) or "none"
    facts["ZenTracer"] = metadata.version("zentracer")
    rows = [join(tag("dt", name), tag("dd", value)) for name, value in facts.items()]
    return tag("footer", tag("dl", *rows))
