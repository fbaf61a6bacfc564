"""Time of a training step with one breakpoint by name whose condition does not hold.

Usage: python benchmarks/function_breakpoints.py [--rounds N] [--seconds N]

One process per row (programs/named_breakpoints.py) trains the transformer of models.py without a
debugger and takes turns with itself: some steps with the breakpoint, some with nothing, some with
what one would write into the program instead, a ``forward_pre_hook`` that tests the same. Bars:
``module:`` 1.005x, ``op:`` 1.05x.

What one call costs comes first (programs/named_calls.py): a busy machine hides half a percent of a
step, but not that. Processor time of one thread; for steps the median over the rounds of the ratio
within a round.
"""

from __future__ import annotations

import json
import subprocess
import sys

from measuring import PROGRAMS, arguments, machine, milliseconds, ratio, steady, table

ROWS = (
    ("module:1", "step < 0", 1.005),
    ("module:1", "norm > 1e9", 1.005),
    ("module:1", "nan > 0", 1.005),
    ("module:0.layers.*", "step < 0", None),
    ("backward:1", "norm > 1e9", None),
    ("op:linear", "step < 0", 1.05),
    ("op:log", "nan > 0", 1.05),
    ("op:linear", "nan > 0", 1.05),
    ("op:aten.*", "step < 0", 1.05),
)
PROGRAM = PROGRAMS / "named_breakpoints.py"
CALLS = PROGRAMS / "named_calls.py"


def main() -> None:
    steady()
    options = arguments(__doc__, rounds=25, seconds=60)
    machine()
    answer = subprocess.run([sys.executable, str(CALLS)], check=True, capture_output=True)
    table(
        ("one call", "adds, µs"),
        [(name, f"{added:.1f}") for name, added in json.loads(answer.stdout).items()],
    )
    rows = [measured(*row, options.rounds, options.seconds) for row in ROWS]
    table(("breakpoint", "condition", "plain step, ms", "armed", "hook by hand"), rows)


def measured(
    name: str, condition: str, limit: float | None, rounds: int, seconds: int
) -> tuple[str, ...]:
    command = ["transformer", str(rounds), str(seconds), name, condition]
    answer = subprocess.run(
        [sys.executable, str(PROGRAM), *command], check=True, capture_output=True, text=True
    )
    found = json.loads(answer.stdout)
    ours = ratio(found["armed"], found["plain"])
    missed = " **missed**" if limit is not None and round(ours, 3) > limit else ""
    peer = f"{ratio(found['hook'], found['plain']):.3f}x" if "hook" in found else ""
    return name, condition, milliseconds(found["plain"]), f"{ours:.3f}x{missed}", peer


if __name__ == "__main__":
    main()
