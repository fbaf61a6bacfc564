"""The source around a line, with the part that made the value."""

from __future__ import annotations

import linecache
import textwrap
from dataclasses import dataclass

from zentracer.wire.messages import Location, TextEdit


@dataclass(frozen=True)
class Line:
    """One line of an excerpt."""

    number: int
    text: str
    mark: tuple[int, int] | None = None
    """Part of the text that is marked, counted from 0, end exclusive; None if no part is."""
    blamed: bool = False
    """Whether it is (one of) the line(s) the excerpt is about."""


def excerpt(location: Location, around: int = 3) -> list[Line]:
    """Lines around ``location``; only its own if the file cannot be read."""
    lines = [line.rstrip("\n") for line in linecache.getlines(location.path)]
    if not 1 <= location.line <= len(lines):
        text = location.text
        return [] if text is None else [_line(location, location.line, text)]
    last = _last_line(location, len(lines))
    first_shown = max(1, location.line - around)
    last_shown = min(len(lines), last + around)
    shown = [_line(location, n, lines[n - 1]) for n in range(first_shown, last_shown + 1)]
    return _trimmed(shown)


def _last_line(location: Location, limit: int) -> int:
    """The end of a marked expression, held to a length that can be read at a glance."""
    if location.column is None or location.end_line is None:
        return location.line
    return max(location.line, min(location.end_line, limit, location.line + 12))


def _line(location: Location, number: int, text: str) -> Line:
    last = (location.end_line or location.line) if location.column is not None else location.line
    blamed = location.line <= number <= last
    mark = _mark(location, number, text) if blamed else None
    if mark is not None:  # columns count a tab as one character
        mark = (len(_untabbed(text[: mark[0]])), len(_untabbed(text[: mark[1]])))
    return Line(number, _untabbed(text), mark, blamed)


def _mark(location: Location, number: int, text: str) -> tuple[int, int] | None:
    if location.column is None:
        return None
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    if number == location.line:
        start = max(0, location.column - 1)
    if number == (location.end_line or location.line) and location.end_column is not None:
        end = min(end, location.end_column - 1)
    return (start, end) if start < end else None


def _untabbed(text: str) -> str:
    return text.expandtabs(4)


def _trimmed(lines: list[Line]) -> list[Line]:
    """Drop blank lines at either end."""
    while len(lines) > 1 and not lines[0].text.strip() and not lines[0].blamed:
        lines = lines[1:]
    while len(lines) > 1 and not lines[-1].text.strip() and not lines[-1].blamed:
        lines = lines[:-1]
    return lines


def edit_lines(edit: TextEdit) -> tuple[list[str], list[str]]:
    """The old and the new lines of an edit, without the indentation they share."""
    old = edit.old_text.splitlines()
    both = textwrap.dedent("\n".join([*old, *edit.new_text.splitlines()])).split("\n")
    return both[: len(old)], both[len(old) :]
