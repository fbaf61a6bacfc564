"""A finding as text for the terminal."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Callable, Iterator

from zentracer.wire.messages import HitDetails, Location, Suggestion
from zentracer_dap.headless import figures
from zentracer_dap.headless.excerpt import Line, edit_lines, excerpt
from zentracer_dap.headless.finding import Finding
from zentracer_dap.headless.palette import Palette, display_width
from zentracer_dap.headless.table import WORDS, Table, tensor_table

Style = Callable[[str], str]


def render(finding: Finding, palette: Palette, folder: Path) -> str:
    """The whole finding; paths are shown relative to ``folder``."""
    parts = [
        _head(finding, palette),
        _source(finding.details, palette, folder),
        _tensors(finding.details, palette),
        _evidence(finding.details, palette),
        _facts(finding.details, palette, folder),
        _neighbours(finding.details, palette, folder),
        _remarks(finding.details, palette),
        _stack(finding.details, palette, folder),
        _suggestions(finding.details, palette, folder),
    ]
    return "\n" + "\n\n".join("\n".join(part) for part in map(list, parts) if part) + "\n\n"


def render_again(finding: Finding, palette: Palette, folder: Path) -> str:
    """One line for what another rank has already shown in full."""
    details = finding.details
    where = figures.place(details.origin, folder)
    context = figures.context(details.phase, details.step, details.rank, None)
    title = f"{_bullet(palette)} {palette.alarm(finding.label)}"
    when = palette.quiet(_dots(context, palette))
    return f"{title}  {when}\n  {finding.text}\n  the same line as before: {where}\n\n"


def _head(finding: Finding, palette: Palette) -> Iterator[str]:
    details = finding.details
    context = figures.context(details.phase, details.step, details.rank, details.module)
    title = f"{_bullet(palette)} {palette.alarm(finding.label)}"
    yield f"{title}  {palette.quiet(_dots(context, palette))}"
    yield from _wrapped(finding.text, palette, style=palette.strong)


def _source(details: HitDetails, palette: Palette, folder: Path) -> Iterator[str]:
    yield from _place(details.origin, palette, folder)
    lines = excerpt(details.origin)
    digits = max((len(str(line.number)) for line in lines), default=0)
    for line in lines:
        yield from _source_line(line, digits, palette)
    stands = details.source
    if (stands.path, stands.line) != (details.origin.path, details.origin.line):
        code = f"  {stands.text.strip()}" if stands.text else ""
        yield f"  The program stands at {figures.place(stands, folder)}{palette.quiet(code)}"


def _place(location: Location, palette: Palette, folder: Path) -> Iterator[str]:
    function = f" in {location.function}" if location.function else ""
    yield f"  {palette.heading(figures.place(location, folder))}{palette.quiet(function)}"


def _source_line(line: Line, digits: int, palette: Palette) -> Iterator[str]:
    bar = palette.quiet(palette.sign("│", "|"))
    number = f"{line.number:>{digits}}"
    if not line.blamed:
        yield f"    {palette.quiet(number)} {bar} {palette.quiet(line.text)}".rstrip()
        return
    arrow = palette.alarm(palette.sign("▶", ">"))
    code = line.text
    if line.mark:
        start, end = line.mark
        code = code[:start] + palette.alarm(code[start:end]) + code[end:]
    yield f"  {arrow} {palette.strong(number)} {bar} {code}"
    if line.mark:
        start, end = line.mark
        before = " " * display_width(line.text[:start])
        carets = "^" * max(1, display_width(line.text[start:end]))
        yield f"    {' ' * digits} {bar} {before}{palette.alarm(carets)}"


def _tensors(details: HitDetails, palette: Palette) -> Iterator[str]:
    table = tensor_table(details)
    if not table.rows:
        return
    rows = [[_fitting(cell, palette) for cell in row.cells] for row in table.rows]
    columns = list(zip(table.columns, *rows))
    widths = [max(map(display_width, column)) for column in columns]
    head = _padded(table, list(table.columns), widths)
    yield palette.quiet("  " + "  ".join(head).rstrip())
    for row, cells in zip(table.rows, rows):
        padded = _padded(table, cells, widths)
        styled = [palette.alarm(c) if i in row.bad else c for i, c in enumerate(padded)]
        yield ("  " + "  ".join(styled)).rstrip()


def _padded(table: Table, cells: list[str], widths: list[int]) -> Iterator[str]:
    for title, cell, width in zip(table.columns, cells, widths):
        room = " " * (width - display_width(cell))
        yield cell + room if title in WORDS else room + cell


def _fitting(cell: str, palette: Palette) -> str:
    return cell.replace(figures.NOT_KNOWN, palette.sign(figures.NOT_KNOWN, "-"))


def _evidence(details: HitDetails, palette: Palette) -> Iterator[str]:
    for line in details.evidence:
        yield f"    {line}"


def _facts(details: HitDetails, palette: Palette, folder: Path) -> Iterator[str]:
    for fact in details.facts:
        yield from _wrapped(fact.text, palette)
        at = fact.location
        if at is not None:
            code = palette.quiet(f"  {at.text.strip()}") if at.text else ""
            yield f"    {figures.place(at, folder)}{code}"


def _neighbours(details: HitDetails, palette: Palette, folder: Path) -> Iterator[str]:
    sides = (("Comes from", details.upstream), ("Goes to", details.downstream))
    for title, neighbours in sides:
        if neighbours:
            yield "  " + palette.heading(title)
        yield from (f"    {line}" for line in figures.tree(neighbours, folder))


def _remarks(details: HitDetails, palette: Palette) -> Iterator[str]:
    if details.finite_before:
        yield from _wrapped(details.finite_before, palette, label="Finite before: ")
    if details.note:
        yield from _wrapped(details.note, palette, label="Note: ")


def _stack(details: HitDetails, palette: Palette, folder: Path) -> Iterator[str]:
    if not details.stack:
        return
    yield "  " + palette.heading("Stack") + palette.quiet(" (innermost first)")
    places = [figures.place(frame, folder) for frame in details.stack]
    functions = [frame.function or "" for frame in details.stack]
    widths = max(map(len, places)), max(map(len, functions))
    for frame, where, function in zip(details.stack, places, functions):
        code = palette.quiet((frame.text or "").strip())
        yield f"    {where:<{widths[0]}}  {function:<{widths[1]}}  {code}".rstrip()


def _suggestions(details: HitDetails, palette: Palette, folder: Path) -> Iterator[str]:
    if not details.suggestions:
        return
    yield "  " + palette.heading("What to try")
    for index, suggestion in enumerate(details.suggestions, 1):
        yield from _suggestion(index, suggestion, palette, folder)


def _suggestion(
    index: int, suggestion: Suggestion, palette: Palette, folder: Path
) -> Iterator[str]:
    yield f"    {index}. {palette.strong(suggestion.title)}"
    yield from _wrapped(suggestion.why, palette, indent=7)
    edit = suggestion.edit
    if edit is None:
        return
    yield palette.quiet(f"       {figures.short_path(edit.path, folder)}:{edit.line}")
    old, new = edit_lines(edit)
    yield from (palette.removed(f"       - {line}") for line in old)
    yield from (palette.added(f"       + {line}") for line in new)


def _wrapped(
    text: str, palette: Palette, *, label: str = "", indent: int = 2, style: Style = str
) -> Iterator[str]:
    room = " " * indent
    for line in textwrap.wrap(label + text, palette.width - indent):
        yield room + style(line)


def _dots(parts: list[str], palette: Palette) -> str:
    return palette.sign(" · ", ", ").join(parts)


def _bullet(palette: Palette) -> str:
    return palette.alarm(palette.sign("●", "*"))
