"""How many seeded faults are blamed on the line that made the first NaN or Inf; bar: 95 %.

Usage: python benchmarks/seeded_faults.py [--totals]

Each fault of tests/programs/seeded.py makes its first non-finite value on a marked line. Ours is a
debug session of all of them (programs/faults.py); what counts is the first stop in each, whose
line and operation must both be right. Of a peer only the line is asked: anomaly mode blames the
line in its warning, a checking mode the innermost line of the user that it runs in. The healthy
programs of the same file show what each takes for a fault where none is.
"""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from typing import Callable, NamedTuple, Optional

import torch
from measuring import PROGRAMS, Client, arguments, line_of, machine, table
from peers import CheckingMode, IsNanMode, NotFiniteMode

from tests.programs import seeded

BAR = 95
PROGRAM = PROGRAMS / "faults.py"
FILTER = "zentracer.nonfinite"
SEEDED_LINE = rf'File "{re.escape(seeded.__file__)}", line (\d+)'


class Blame(NamedTuple):
    """What was named first."""

    line: int | None
    op: str | None = None
    """The operation, or how the peer failed."""


Programs = dict[str, Callable[[], object]]
Blames = dict[str, Optional[Blame]]
"""None for a program on which not a word was said."""


def main() -> None:
    options = arguments(__doc__, totals="print only the totals")
    machine()
    programs: Programs = {name: function for name, (function, _) in seeded.FAULTS.items()}
    programs.update(seeded.HEALTHY)
    found = {
        "zentracer": ours(programs),
        "anomaly mode": {name: anomaly(run) for name, run in programs.items()},
        "isnan mode": {name: checking(IsNanMode, run) for name, run in programs.items()},
        "isfinite mode": {name: checking(NotFiniteMode, run) for name, run in programs.items()},
    }
    if not options.totals:
        details(found)
    totals(found)


# -- what each of them names -------------------------------------------------------------------


def ours(programs: Programs) -> Blames:
    """Debug all programs in one session; returns what the first stop in each says."""
    found: Blames = {}
    with Client() as client:
        lines = [line_of(PROGRAM, "next"), line_of(PROGRAM, "end")]
        client.launch(program=PROGRAM, breakpoints={PROGRAM: lines}, exceptions=[FILTER])
        client.wait_event("stopped")
        for name in programs:
            client.resume()
            found[name] = first_of(client)
    return found


def first_of(client: Client) -> Blame | None:
    """Go on to the next program; returns what the first stop on the way says."""
    first = None
    while (stopped := client.wait_event("stopped"))["reason"] != "breakpoint":
        if first is None:
            hit = client.exception_info(stopped["threadId"])["details"]["zentracer"]
            first = Blame(hit["origin"]["line"], hit["op"])
        client.resume(stopped["threadId"])
    return first


def anomaly(run: Callable[[], object]) -> Blame | None:
    """Return the line of the forward call that anomaly mode's warning names."""
    with warnings.catch_warnings(record=True) as caught, torch.autograd.set_detect_anomaly(True):
        warnings.simplefilter("always")
        try:
            run()
        except RuntimeError as error:
            texts = [str(warning.message) for warning in caught]
            lines = [int(n) for text in texts for n in re.findall(SEEDED_LINE, text)]
            return Blame(lines[-1]) if lines else Blame(None, str(error))
    return None


def checking(mode: type[CheckingMode], run: Callable[[], object]) -> Blame | None:
    """Return the user's line on which the first result was bad."""
    found: list[Blame] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns of some faults by itself
            with mode(lambda operation: found.append(Blame(line_running(), operation))):
                run()
    except Exception as error:  # a mode may break what the program does
        found.append(Blame(None, f"{type(error).__name__}: {error}"))
    return found[0] if found else None


def line_running() -> int | None:
    """Return the line of the innermost frame of seeded.py."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != seeded.__file__:
        frame = frame.f_back
    return frame.f_lineno if frame is not None else None


# -- what is right -----------------------------------------------------------------------------


def bad_line(name: str) -> int:
    """Return the line marked ``# @bad``."""
    lines, first = inspect.getsourcelines(seeded.FAULTS[name][0])
    (line,) = (first + i for i, text in enumerate(lines) if "# @bad" in text)
    return line


def phase(name: str) -> str:
    """Return the section of seeded.py that the fault stands in."""
    above = inspect.getsource(seeded).splitlines()[: bad_line(name)]
    return re.findall(r"^# -- (\w+) -", "\n".join(above), re.MULTILINE)[-1]


def is_exact(who: str, name: str, blame: Blame | None) -> bool:
    if blame is None or blame.line != bad_line(name):
        return False
    return who != "zentracer" or blame.op == seeded.FAULTS[name][1]


def details(found: dict[str, Blames]) -> None:
    rows = []
    for name in seeded.FAULTS:
        cells = (describe(who, name, blames[name]) for who, blames in found.items())
        rows.append((f"`{name}`", phase(name), *cells))
    table(("fault", "phase", *found), rows)


def describe(who: str, name: str, blame: Blame | None) -> str:
    if blame is None:
        return "silent"
    if blame.line is None:
        return "no line"
    if is_exact(who, name, blame):
        return "exact"
    distance = blame.line - bad_line(name)
    return f"{blame.op}?" if not distance else f"{distance:+} lines"


def totals(found: dict[str, Blames]) -> None:
    rows = []
    for label in ("all", "forward", "backward", "update"):
        names = [name for name in seeded.FAULTS if label in ("all", phase(name))]
        cells = []
        for who, blames in found.items():
            exact = sum(is_exact(who, name, blames[name]) for name in names)
            share = 100 * exact / len(names)
            missed = who == "zentracer" and share < BAR
            cells.append(f"{share:.0f} %" + (" **missed**" if missed else ""))
        rows.append((f"{label} ({len(names)})", *cells))
    alarms = [sum(blames[name] is not None for name in seeded.HEALTHY) for blames in found.values()]
    rows.append((f"false alarms ({len(seeded.HEALTHY)} healthy)", *alarms))
    table(("faults on the exact line (bar 95 %)", *found), rows)


if __name__ == "__main__":
    main()
