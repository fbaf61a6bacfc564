"""Time to change one element of a parameter of 2^26, and to change it back.

Usage: python benchmarks/patches.py [--rounds N]

From the request to the answer, through the adapter; bar: 20 ms each, and no memory beyond the
slice. Stock debugpy runs the same assignment in its console; it has no undo.
"""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from measuring import (
    PROGRAMS,
    Client,
    arguments,
    bar,
    line_of,
    machine,
    table,
    timed,
)

BAR = 20.0
PROGRAM = PROGRAMS / "large_parameter.py"
ELEMENT = 12_345_678


def main() -> None:
    options = arguments(__doc__, rounds=15)
    machine()
    with Client("zentracer") as ours, Client("debugpy") as stock:
        mine, others = stopped(ours), stopped(stock)
        pid = int(evaluated(ours, mine, "__import__('os').getpid()", "watch"))
        numbers: list[int] = []

        def apply() -> float:
            return timed(
                lambda: numbers.append(
                    ours.request(
                        "zentracer/apply_patch",
                        target="weight",
                        slice=str(ELEMENT),
                        value=0.5,
                        frameId=mine,
                    )["patch_id"]
                )
            )

        def undo() -> float:
            return timed(lambda: ours.request("zentracer/undo_patch", patch_id=numbers.pop()))

        def assign() -> float:
            text = f"weight.data[{ELEMENT}] = 0.5"
            return timed(lambda: evaluated(stock, others, text, "repl"))

        for once in (apply, undo, assign):  # what is imported once
            once()
        before = resident(pid)
        found: dict[str, list[float]] = {"apply": [], "undo": [], "debugpy": []}
        for _ in range(options.rounds):
            found["apply"].append(apply())
            found["undo"].append(undo())
            found["debugpy"].append(assign())
        grown = resident(pid) - before
    rows = [
        (name, figure(name, statistics.median(figures) * 1000)) for name, figures in found.items()
    ]
    table(("medians in ms", "request to answer (bar 20)"), rows)
    print(f"resident memory of the program has grown by {grown / 1024:.0f} KiB")


def figure(name: str, value: float) -> str:
    """Return a cell; the bar is for ours."""
    return f"{value:.1f}" if name == "debugpy" else bar(value, BAR, "{:.1f}")


def stopped(client: Client) -> int:
    """Stand beside the parameter; returns the frame."""
    client.launch(program=PROGRAM, breakpoints={PROGRAM: [line_of(PROGRAM, "here")]})
    return client.until_stopped().frame_id


def evaluated(client: Client, frame: int, expression: str, context: str) -> Any:
    return client.evaluate(expression, frame, context)["result"]


def resident(pid: int) -> int:
    """Return the bytes of a process that are in memory, on Linux."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096


if __name__ == "__main__":
    main()
