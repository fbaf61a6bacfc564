"""Colours and signs that fit the terminal at hand."""

from __future__ import annotations

import os
import unicodedata
from dataclasses import dataclass
from typing import TextIO


@dataclass(frozen=True)
class Palette:
    """How text is set off; without colour every style returns its text unchanged."""

    colour: bool = False
    unicode: bool = True
    width: int = 100

    def strong(self, text: str) -> str:
        """What a reader should see first."""
        return self._style("1", text)

    def alarm(self, text: str) -> str:
        """The fault itself."""
        return self._style("1;31", text)

    def quiet(self, text: str) -> str:
        """What is there for reference."""
        return self._style("2", text)

    def added(self, text: str) -> str:
        """A line to put in."""
        return self._style("32", text)

    def removed(self, text: str) -> str:
        """A line to take out."""
        return self._style("31", text)

    def heading(self, text: str) -> str:
        """Title of a part."""
        return self._style("1;36", text)

    def sign(self, preferred: str, plain: str) -> str:
        """``preferred`` where the terminal can show it."""
        return preferred if self.unicode else plain

    def _style(self, code: str, text: str) -> str:
        return f"\033[{code}m{text}\033[0m" if self.colour and text else text


def palette_for(stream: TextIO, columns: int) -> Palette:
    """Choose by the stream and the environment (https://no-color.org)."""
    colour = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    try:
        "▶│·–σ".encode(stream.encoding or "ascii")
        unicode = True
    except (UnicodeEncodeError, LookupError):
        unicode = False
    return Palette(colour, unicode, max(60, min(columns, 110)))


def display_width(text: str) -> int:
    """Columns that ``text`` takes in a terminal."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )
