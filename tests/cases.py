"""The programs of tests/programs/cases: their descriptions, marks and healthy twins."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "programs" / "cases"
_MARK = re.compile(r"\s*# <- ([a-z, ]+)$")
_FIELD = re.compile(r"([a-z-]+):\s*(.*)$")


@dataclass(frozen=True)
class Case:
    """A program with a real fault."""

    path: Path

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def fields(self) -> dict[str, str]:
        """The fields of the docstring (``kind``, ``expect``, ``fix-line`` …)."""
        found: dict[str, str] = {}
        key = ""
        for line in (ast.get_docstring(ast.parse(self.text)) or "").splitlines():
            match = _FIELD.match(line)
            if match:
                key = match[1]
                found[key] = match[2].strip()
            elif key and line.strip():
                found[key] += " " + line.strip()
        return found

    def lines(self, mark: str) -> list[int]:
        """Return the lines that carry ``# <- mark``."""
        return [
            number
            for number, line in enumerate(self.text.splitlines(), 1)
            if (match := _MARK.search(line)) and mark in match[1].split(", ")
        ]

    def twin(self, folder: Path) -> Path:
        """Write the healthy twin, the program with its ``fix-line``, and return its path."""
        number = (self.lines("origin") or self.lines("culprit"))[0]
        lines = self.text.split("\n")
        indent = re.match(r"\s*", lines[number - 1])
        assert indent is not None
        lines[number - 1 : number] = [
            indent[0] + part for part in self.fields["fix-line"].split(" ;; ")
        ]
        path = folder / self.path.name
        path.write_text("\n".join(lines), encoding="utf-8")
        return path


def cases(pattern: str) -> list[Case]:
    """Return the cases whose file name matches a glob, by name."""
    return [Case(path) for path in sorted(FOLDER.glob(pattern))]
