"""Run small programs that end in an exception, and what is said about it, without a debugger."""

from __future__ import annotations

import contextlib
import textwrap
from pathlib import Path
from typing import Any

from watching import watching

from zentracer.frameworks.pytorch.errors import explain
from zentracer.wire.messages import BreakpointHit

PREAMBLE = "import torch\nfrom torch import nn\nF = nn.functional\n"


class Failed:
    """A program that has failed."""

    def __init__(self, path: Path, error: BaseException, armed: bool) -> None:
        self.path = path
        self.error = error
        self.armed = armed
        self.hit: BreakpointHit | None = None

    @property
    def said(self) -> BreakpointHit:
        assert self.hit is not None, f"nothing was said about {self.error!r}"
        return self.hit

    @property
    def text(self) -> str:
        return self.said.description

    def line(self, mark: str = "blame") -> int:
        lines = self.path.read_text().splitlines()
        (number,) = [n for n, line in enumerate(lines, 1) if line.endswith(f"# @{mark}")]
        return number

    def blames(self, mark: str = "blame") -> None:
        """Check that the line to blame is the marked one."""
        origin = self.said.details.origin
        assert (origin.path, origin.line) == (str(self.path), self.line(mark)), self.text

    def says(self, *words: str) -> None:
        """Check that the whole text has these words."""
        for word in words:
            assert word in self.text, f"{word!r} is not in:\n{self.text}"

    def edit(self) -> tuple[str, str]:
        """Old and new text of the first edit."""
        found = [s.edit for s in self.said.details.suggestions if s.edit is not None]
        assert found, self.text
        return found[0].old_text.partition("  #")[0].strip(), found[0].new_text.partition("  #")[
            0
        ].strip()


def fail(folder: Path, source: str, *, armed: bool = False, **names: Any) -> Failed:
    """Run ``source``, which must end in an exception, and explain it."""
    number = len(list(folder.glob("program*.py")))  # Python remembers sources by their paths
    path = folder / f"program{number or ''}.py"
    path.write_text(PREAMBLE + textwrap.dedent(source))
    code = compile(path.read_text(), str(path), "exec")
    scope = {"__name__": "program", "__file__": str(path), **names}
    with watching() if armed else contextlib.nullcontext():
        try:
            exec(code, scope)
        except BaseException as error:
            assert error.__traceback__ is not None
            failed = Failed(path, error.with_traceback(error.__traceback__.tb_next), armed)
            failed.hit = explain(failed.error)
            return failed
    raise AssertionError("the program ended without an exception")
