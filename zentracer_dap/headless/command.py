"""``zentracer debug``, from its words to its exit code."""

from __future__ import annotations

import datetime
from pathlib import Path

from zentracer_dap.environment import FRAMEWORKS, probe
from zentracer_dap.headless.debug import debug
from zentracer_dap.headless.finding import Findings
from zentracer_dap.headless.options import Options, read_options
from zentracer_dap.headless.printer import Printer
from zentracer_dap.headless.report import report_page, write_report


def main(argv: list[str]) -> int:
    """Carry out the command.

    Raises:
        UsageProblem: the user has to change something; nothing of theirs has run.
    """
    options = read_options(argv)
    printer = Printer(as_json=options.json)
    outcome = debug(options, printer)
    if outcome.findings or outcome.complete:
        printer.summary(outcome.findings, outcome.code)
    if options.report is not None:
        _report(options, options.report, outcome.findings, printer)
    return outcome.code


def _report(options: Options, path: Path, findings: Findings, printer: Printer) -> None:
    page = report_page(
        findings,
        options.target.shown(),
        probe(options.target.python, FRAMEWORKS),
        datetime.datetime.now().astimezone(),
        Path.cwd(),
    )
    try:
        write_report(path, page)
    except OSError as error:
        printer.problem(f"the report could not be written: {error}")
    else:
        printer.problem(f"report written to {path}")
