"""Time of a training step with groups of tensor exceptions armed.

Usage: python benchmarks/filters.py [--rounds N] [--threads N] [--wall] [--only TEXT]

One process per model and group (programs/filtered.py) trains without a debugger and takes turns
with itself: some steps with the group armed, some with nothing. Detectors look at more in the first
steps after they are armed than later, so two figures are given: the first 20 steps, and those after
40. Bars: exploding + vanishing + stalled + loss_spike 1.03x, dead + saturated + precision 1.08x,
shape 1.05x.

Processor time of one thread by default, which is steady on any machine; ``--wall --threads 2`` for
time on the wall.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys

from measuring import PROGRAMS, arguments, bar, machine, table
from models import MODELS

GROUPS = (
    ("exploding + vanishing + stalled + loss_spike", 1.03),
    ("dead + saturated + precision", 1.08),
    ("shape", 1.05),
    ("exploding", None),
    ("vanishing", None),
    ("stalled", None),
    ("loss_spike", None),
    ("dead", None),
    ("saturated", None),
    ("precision", None),
    ("nonfinite", 1.10),
    ("nonfinite, no advice", None),
    ("all", None),
)
PROGRAM = PROGRAMS / "filtered.py"


def main() -> None:
    options = arguments(__doc__, rounds=5, threads=1, groups=len(GROUPS), wall="time on the wall")
    machine()
    os.environ["OMP_WAIT_POLICY"] = "passive"
    for model in MODELS:
        rows = [measured(model, group, limit, options) for group, limit in GROUPS[: options.groups]]
        table((model, "plain step, ms", "armed", "first 20 steps"), rows)


def measured(model: str, group: str, limit: float | None, options: object) -> tuple[str, ...]:
    how = "wall" if options.wall else "cpu"  # type: ignore[attr-defined]
    command = [model, group, how, str(options.threads), str(options.rounds)]  # type: ignore[attr-defined]
    answer = subprocess.run(
        [sys.executable, str(PROGRAM), *command], check=True, capture_output=True, text=True
    )
    found = json.loads(answer.stdout)
    settled = statistics.median(a / b for a, b in zip(found["armed"], found["plain"]))
    first = statistics.median(a / b for a, b in zip(found["first"], found["plain"]))
    plain = statistics.median(found["plain"])
    return (
        group,
        f"{plain * 1000:.4g}",
        bar(settled, limit) if limit is not None else f"{settled:.2f}x",
        f"{first:.2f}x",
    )


if __name__ == "__main__":
    main()
