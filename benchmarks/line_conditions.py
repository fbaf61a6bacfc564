"""Time that a line breakpoint with a false condition takes at each hit; bar: 5 µs.

Usage: python benchmarks/line_conditions.py [--rounds N] [--turns N] [--python PATH …]

The same loops run in one process with the breakpoint and without it (programs/line_conditions.py);
the difference, in CPU time, is the cost of a hit: whatever is traced because of the breakpoint
counts. Our adapter and ``python -m debugpy.adapter`` take turns.

``--python`` names interpreters with ``debugpy`` and ``msgpack`` installed, so that debugpy's
compiled parts for that version are used, as in a user's environment.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from typing import Any, Sequence

from measuring import PROGRAMS, ROOT, Client, interleaved, line_of, machine, ratio, table

BAR = 5.0
PROGRAM = PROGRAMS / "line_conditions.py"
LOOPS = {
    "tight": "a loop of one line",
    "turn": "a function of one line",
    "long": "one of eight lines of a loop",
}
MARKS = {"tight": "tight", "turn": "calling", "long": "long"}
"""Mark of the breakpoint -> the function that is measured."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--turns", type=int, default=20_000)
    parser.add_argument("--python", nargs="+", default=[sys.executable])
    options = parser.parse_args()
    machine()
    rows: list[Sequence[object]] = []
    for python in options.python:
        rows += rows_of(python, options.rounds, options.turns)
    head = (
        "µs a hit, condition `i < 0`",
        "backend",
        "zentracer (bar 5)",
        "debugpy",
        "ours / debugpy",
    )
    table(head, rows)


def rows_of(python: str, rounds: int, turns: int) -> list[Sequence[object]]:
    """Measure one interpreter."""
    found: dict[str, list[dict[str, Any]]] = {"zentracer": [], "debugpy": []}

    def side(adapter: str) -> Any:
        def once() -> float:
            found[adapter].append(run(python, adapter, turns))
            return found[adapter][-1]["tight"]

        return once

    interleaved(rounds, {adapter: side(adapter) for adapter in found}, seconds=300)
    rows: list[Sequence[object]] = []
    for mark, loop in LOOPS.items():
        ours, stock = ([each[MARKS[mark]] for each in found[side]] for side in found)
        cost = statistics.median(ours)
        version, backend = found["zentracer"][0]["version"], found["zentracer"][0]["backend"]
        missed = " **missed**" if cost > BAR else ""
        rows.append(
            (
                f"{version}: {loop}",
                backend,
                f"{cost:.2f}{missed}",
                f"{statistics.median(stock):.2f}",
                f"{ratio(ours, stock):.2f}x",
            )
        )
    return rows


def run(python: str, adapter: str, turns: int) -> dict[str, Any]:
    """Run the program once; returns what it measured."""
    module = {"zentracer": "zentracer_dap", "debugpy": "debugpy.adapter"}[adapter]
    environment = {"PYTHONPATH": str(ROOT)} if adapter == "zentracer" else {}
    breakpoints = [{"line": line_of(PROGRAM, mark), "condition": "i < 0"} for mark in LOOPS]
    with Client(command=[python, "-m", module], env=environment) as client:
        client.launch(
            program=PROGRAM, args=[str(turns)], python=[python], breakpoints={PROGRAM: breakpoints}
        )
        client.until_exit()
        return json.loads(client.output("stdout").strip().splitlines()[-1])


if __name__ == "__main__":
    main()
