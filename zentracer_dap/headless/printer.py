"""What the command prints, and where.

Findings go to stdout. So does the program's own output, which this command never touches; with
``--json`` that one goes to stderr and stdout carries nothing but findings. Everything else we
have to say goes to stderr.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from zentracer_dap.headless import figures
from zentracer_dap.headless.finding import Finding, Findings
from zentracer_dap.headless.palette import Palette, palette_for
from zentracer_dap.headless.terminal import render, render_again


class Printer:
    """Writes findings as they come and a summary at the end."""

    def __init__(self, *, as_json: bool) -> None:
        columns = shutil.get_terminal_size((100, 24)).columns
        self._json = as_json
        self._folder = Path.cwd()
        self._out: Palette = palette_for(sys.stdout, columns)
        self._err: Palette = palette_for(sys.stderr, columns)

    def show(self, finding: Finding, elsewhere: Finding | None) -> None:
        """Print a finding; briefly if another rank has made it already."""
        if self._json:
            text = json.dumps({**finding.raw, "text": finding.text}, allow_nan=False) + "\n"
        elif elsewhere is not None:
            text = render_again(finding, self._out, self._folder)
        else:
            text = render(finding, self._out, self._folder)
        sys.stdout.write(text)
        sys.stdout.flush()

    def problem(self, text: str) -> None:
        """Say something about the debugger itself."""
        sys.stderr.write(f"zentracer: {text.rstrip()}\n")
        sys.stderr.flush()

    def output(self, category: str, text: str) -> None:
        """Pass on an ``output`` event of the adapter's."""
        if category in ("telemetry", "console") or not text:
            return
        stream = sys.stdout if category == "stdout" and not self._json else sys.stderr
        stream.write(text)
        stream.flush()

    def summary(self, findings: Findings, code: int) -> None:
        """Say at the end what was found, and how often."""
        if not findings:
            self.problem("nothing found" + (f"; exit code {code}" if code else ""))
            return
        noun = "finding" if len(findings) == 1 else "findings"
        self.problem(self._err.strong(f"{len(findings)} {noun}"))
        rows = [_summary_row(item, self._folder) for item in findings.items]
        widths = [max(map(len, column)) for column in zip(*rows)]
        for row in rows:
            cells = (f"{cell:<{width}}" for cell, width in zip(row, widths))
            sys.stderr.write("  " + "  ".join(cells).rstrip() + "\n")
        sys.stderr.flush()


def _summary_row(finding: Finding, folder: Path) -> tuple[str, ...]:
    details = finding.details
    rank = "" if details.rank is None else f"rank {details.rank}"
    where = figures.place(details.origin, folder)
    return (
        finding.label,
        where,
        f"{details.op} ({details.phase})",
        rank,
        figures.times(finding.count),
    )
