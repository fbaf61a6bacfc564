"""The command line of ``zentracer debug``."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

from zentracer.wire.filters import FILTERS, PREFIX
from zentracer_dap.headless.breaks import Breaks, parse_breaks
from zentracer_dap.headless.problem import UsageProblem
from zentracer_dap.headless.target import Target, find_target

USAGE = """\
zentracer debug [options] SCRIPT [ARGS...]
       zentracer debug [options] -m MODULE [ARGS...]"""

DESCRIPTION = """\
Run a training program and say where its numbers go wrong. For each finding: the source line with
the operation marked, your stack, the tensors' statistics, and what to try. The program runs on
after a finding; its input, output and exit are those of plain Python."""

TAKE_VALUE = ("--break", "--report", "--python")
"""Options whose value may be the next word."""

EPILOG = """\
filters for --break:
{filters}

and by name, each with " if CONDITION" behind it if wanted:
  module:GLOB  before a module runs, e.g. 'module:encoder.layers.* if absmax > 100'
  backward:GLOB  when the gradients of a module's output arrive
  op:GLOB  after an operation, e.g. op:aten.softmax or op:torch.log
  step, step:N  when a training step is complete

conditions are Python expressions over
  module op phase step epoch rank x name shape dtype device size
  min max mean std absmax norm nan inf zeros ratio match("encoder.*")

exit code:
  0  nothing found, and the program ended well
  3  something found
  2  the command line is wrong; nothing was started
  70 the debugger itself failed; the program went on unwatched
  otherwise the program's own

examples:
  zentracer debug train.py --epochs 3
  zentracer debug --break 'nonfinite:match("encoder.*") and step > 10' train.py
  zentracer debug --first --report nan.html train.py
  zentracer debug --json -m torch.distributed.run --nproc-per-node 2 train.py"""


@dataclass(frozen=True)
class Options:
    """What the user asked for, checked."""

    target: Target
    breaks: Breaks
    stop_at_first: bool
    json: bool
    report: Path | None
    precise: bool
    advice: bool


def read_options(argv: list[str]) -> Options:
    """Read the words after ``zentracer debug``.

    Raises:
        UsageProblem: something the user has to change.
        SystemExit: by argparse, for ``--help`` and unknown options.
    """
    parser = _parser()
    own, arguments = _split(argv)
    given = parser.parse_args(own)
    if given.module is None and given.script is None:
        raise UsageProblem(f"no program given\nusage: {USAGE}")
    return Options(
        target=find_target(given.script, given.module, arguments, given.python),
        breaks=parse_breaks(given.breaks),
        stop_at_first=given.first,
        json=given.json,
        report=_report_path(given.report),
        precise=given.precise,
        advice=not given.no_advice,
    )


def _parser() -> argparse.ArgumentParser:
    filters = "\n".join(
        f"  {f.id[len(PREFIX) :]:<12}{f.label}{' (default)' if f.default else ''}" for f in FILTERS
    )
    parser = argparse.ArgumentParser(
        prog="zentracer debug",
        usage=USAGE,
        description=DESCRIPTION,
        epilog=EPILOG.format(filters=filters),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("script", nargs="?", metavar="SCRIPT", help="the program, a file")
    add("args", nargs="*", metavar="ARGS", help="the program's own arguments")
    add("-m", dest="module", metavar="MODULE", help="the program, a module, as in python -m")
    add(
        "--break",
        dest="breaks",
        action="append",
        default=[],
        metavar="FILTER[:CONDITION]",
        help="what to look for, or all, or a name (see below); may be given several times",
    )
    add("--first", action="store_true", help="end the program at the first finding")
    add(
        "--precise",
        action="store_true",
        help="check every operation: slower, always stops on the executing line",
    )
    add(
        "--no-advice",
        action="store_true",
        help="do not list mistakes that stop nothing, such as gradients that are never reset",
    )
    add(
        "--json",
        action="store_true",
        help="one JSON object a line for each finding on stdout; the program's output on stderr",
    )
    add("--report", metavar="FILE.html", help="write a self-contained page to send to somebody")
    add("--python", metavar="PATH", help="interpreter that runs the program (default: this one)")
    return parser


def _split(argv: list[str]) -> tuple[list[str], list[str]]:
    """Our words, up to and with the program's name, and the words that belong to the program.

    argparse cannot tell them apart: it would take the program's options for ours.
    """
    index = 0
    while index < len(argv):
        word = argv[index]
        if word == "--":
            return [*argv[:index], *argv[index + 1 : index + 2]], argv[index + 2 :]
        if word == "-m":
            return argv[: index + 2], argv[index + 2 :]
        if not word.startswith("-") or word.startswith("-m"):
            return argv[: index + 1], argv[index + 1 :]
        index += 2 if word in TAKE_VALUE else 1
    return argv, []


def _report_path(text: str | None) -> Path | None:
    if text is None:
        return None
    path = Path(text).absolute()
    if path.is_dir() or not path.parent.is_dir():
        raise UsageProblem(f"--report {text}: the folder must exist, and the path name a file")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageProblem(f"--report {text}: no permission to write there")
    return path
