"""The parts of a report's page that show one finding."""

from __future__ import annotations

from pathlib import Path
from typing import Iterable, Iterator

from zentracer.wire.messages import HitDetails, Location, Suggestion, TextEdit
from zentracer_dap.headless import figures
from zentracer_dap.headless.excerpt import Line, edit_lines, excerpt
from zentracer_dap.headless.finding import Finding
from zentracer_dap.headless.markup import EMPTY, Markup, join, tag
from zentracer_dap.headless.report_chart import content_chart, range_chart
from zentracer_dap.headless.table import WORDS, Row, Table, tensor_table


def article(finding: Finding, number: int, folder: Path) -> Markup:
    """One finding, wholly."""
    details = finding.details
    return tag(
        "article",
        _chips(finding),
        tag("h2", finding.text, class_="title"),
        _source(details, folder),
        _remark("Finite before. ", details.finite_before, "remark"),
        _remark("Note. ", details.note, "remark note"),
        _tensors(details),
        _lines("Evidence", details.evidence),
        _lines("What else is known", _facts(details, folder)),
        _lines("Comes from", figures.tree(details.upstream, folder)),
        _lines("Goes to", figures.tree(details.downstream, folder)),
        _tries(details.suggestions, folder),
        _stack(details.stack, folder),
        id=f"finding-{number}",
    )


def _chips(finding: Finding) -> Markup:
    details = finding.details
    words = figures.context(details.phase, details.step, details.rank, details.module)
    words.append(details.op)
    if finding.count > 1:
        words.append(figures.times(finding.count))
    chips = [tag("span", word, class_="chip") for word in words]
    label = tag("span", finding.label, class_="chip fault")
    return tag("div", label, *chips, class_="kicker")


def _source(details: HitDetails, folder: Path) -> Markup:
    origin = details.origin
    place = tag("b", figures.place(origin, folder), class_="mono")
    function = tag("span", origin.function, class_="soft mono") if origin.function else EMPTY
    code = tag("div", *map(_code_row, excerpt(origin, around=4)), class_="code")
    return tag(
        "figure",
        tag("figcaption", place, function),
        tag("div", code, class_="scroll"),
        _stands(details, folder),
        class_="card source",
    )


def _code_row(line: Line) -> Markup:
    text = join(line.text)
    if line.mark:
        start, end = line.mark
        text = join(line.text[:start], tag("mark", line.text[start:end]), line.text[end:])
    return tag(
        "div",
        tag("span", str(line.number), class_="no"),
        tag("span", text, class_="tx"),
        class_="row here" if line.blamed else "row",
    )


def _stands(details: HitDetails, folder: Path) -> Markup:
    stands, origin = details.source, details.origin
    if (stands.path, stands.line) == (origin.path, origin.line):
        return EMPTY
    place = tag("span", figures.place(stands, folder), class_="mono")
    code = tag("code", (stands.text or "").strip())
    return tag("div", "The program stands at ", place, " ", code, class_="stands")


def _remark(title: str, text: str | None, kind: str) -> Markup:
    return tag("p", tag("b", title), text, class_=kind) if text else EMPTY


def _facts(details: HitDetails, folder: Path) -> Iterator[str]:
    for fact in details.facts:
        yield fact.text
        at = fact.location
        if at is not None:
            yield f"  {figures.place(at, folder)}  {(at.text or '').strip()}".rstrip()


def _lines(title: str, lines: Iterable[str]) -> Markup:
    """Lines in columns or a tree, as they are."""
    text = "\n".join(lines)
    return join(tag("h3", title), _card(tag("pre", text, class_="mono lines"))) if text else EMPTY


def _tensors(details: HitDetails) -> Markup:
    table = tensor_table(details)
    if not table.rows:
        return EMPTY
    drawn = [join(range_chart(row.stats), content_chart(row.stats)) for row in table.rows]
    numbers = [title for title in table.columns if title not in WORDS]
    head = [tag("th", "tensor", scope="col"), *(tag("th", n.strip(), scope="col") for n in numbers)]
    if any(drawn):
        head.append(tag("th", "values", scope="col", class_="chart"))
    rows = [_tensor_row(table, row, chart) for row, chart in zip(table.rows, drawn)]
    whole = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *rows))
    legend = _legend(table) if any(drawn) else EMPTY
    return join(tag("h3", "Tensors"), _card(tag("div", whole, class_="scroll"), legend))


def _tensor_row(table: Table, row: Row, chart: Markup) -> Markup:
    words = dict(zip(table.columns, row.cells))
    name = tag("b", words.get("name") or words[""])
    role = tag("span", words[""], class_="role") if words.get("name") else EMPTY
    shape = tag("span", words["tensor"], class_="mono")
    cells = [
        tag("td", cell, class_="bad" if index in row.bad else "number")
        for index, (title, cell) in enumerate(zip(table.columns, row.cells))
        if title not in WORDS
    ]
    return tag(
        "tr",
        tag("th", name, role, shape, scope="row"),
        *cells,
        tag("td", chart, class_="chart") if chart else EMPTY,
    )


def _legend(table: Table) -> Markup:
    stats = [row.stats for row in table.rows]
    words = {
        "finite": "finite",
        "zeros": "zero" if any(item.zeros for item in stats) else "",
        "nan": "NaN" if any(item.nan for item in stats) else "",
        "inf": "Inf" if any(item.inf for item in stats) else "",
        "mean": "mean",
        "spread": "± one standard deviation",
    }
    items = [tag("span", _swatch(kind), word) for kind, word in words.items() if word]
    return tag("div", *items, class_="legend")


def _swatch(kind: str) -> Markup:
    square = tag("rect", class_=kind, width="10", height="10", rx="2")
    return tag("svg", square, width="10", height="10", aria_hidden="true")


def _tries(suggestions: tuple[Suggestion, ...], folder: Path) -> Markup:
    if not suggestions:
        return EMPTY
    items = [_try(item, folder) for item in suggestions]
    return join(tag("h3", "What to try"), tag("ol", *items, class_="tries"))


def _try(suggestion: Suggestion, folder: Path) -> Markup:
    what = tag("div", tag("b", suggestion.title), tag("p", suggestion.why), class_="what")
    edit = _diff(suggestion.edit, folder) if suggestion.edit else EMPTY
    return tag("li", what, edit, class_="card")


def _diff(edit: TextEdit, folder: Path) -> Markup:
    old, new = edit_lines(edit)
    place = f"{figures.short_path(edit.path, folder)}:{edit.line}"
    lines = [
        *(tag("del", f"- {line}") for line in old),
        *(tag("ins", f"+ {line}") for line in new),
    ]
    block = tag("div", tag("pre", *lines), class_="scroll")
    return tag("div", tag("div", place, class_="at mono"), block, class_="diff")


def _stack(stack: tuple[Location, ...], folder: Path) -> Markup:
    if not stack:
        return EMPTY
    rows = [
        tag(
            "tr",
            tag("th", figures.place(frame, folder), scope="row", class_="mono"),
            tag("td", frame.function or ""),
            tag("td", (frame.text or "").strip(), class_="mono"),
        )
        for frame in stack
    ]
    table = tag("table", tag("tbody", *rows), class_="stack")
    title = tag("h3", "Stack, innermost first")
    return join(title, _card(tag("div", table, class_="scroll")))


def _card(*content: str) -> Markup:
    return tag("div", *content, class_="card")
