"""What all benchmarks share: interleaved rounds, paired ratios, a Markdown table.

Other programs of the machine slow one side down as they slow the other, if the sides take turns
within a round. So every ratio is the median over the rounds of the ratio within a round.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping, Sequence

HERE = Path(__file__).parent
ROOT = HERE.parent
PROGRAMS = HERE / "programs"
for folder in (ROOT, ROOT / "tests"):
    sys.path.insert(0, str(folder))

from dap_client import Client, Stop, line_of  # noqa: E402

__all__ = [
    "PROGRAMS", "ROOT", "Client", "Stop", "arguments", "bar", "interleaved", "line_of", "machine",
    "milliseconds", "ratio", "steady", "table", "timed",
]  # fmt: skip


_KEEPS = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}


def steady() -> None:
    """Begin again with an allocator that keeps the memory it has, on glibc; for all children, too.

    Otherwise large tensors come and go with page faults, a few of them in one step and thousands in
    the next, whatever is armed: several percent of a step, where a bar is half of one.
    """
    if sys.platform == "linux" and not _KEEPS.keys() <= os.environ.keys():
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **_KEEPS})


def arguments(doc: str, **options: int | str) -> Any:
    """Parse the command line: numbers with their defaults, switches with their help."""
    parser = argparse.ArgumentParser(description=doc.partition("\n")[0])
    for name, value in options.items():
        if isinstance(value, int):
            parser.add_argument(f"--{name}", type=int, default=value, help=f"default {value}")
        else:
            parser.add_argument(f"--{name}", action="store_true", help=value)
    return parser.parse_args()


def interleaved(
    rounds: int,
    sides: Mapping[str, Callable[[], float | Sequence[float]]],
    *,
    seconds: float = 75,
) -> dict[str, list[float]]:
    """Let the sides take turns; returns the median of each side's figures in each round.

    Each round begins with another side, so that none always follows the same one. On a machine too
    busy for all rounds in ``seconds``, fewer have to do, but three at least.
    """
    names = list(sides)
    found: dict[str, list[float]] = {name: [] for name in names}
    start = time.monotonic()
    for number in range(rounds):
        if number >= 3 and time.monotonic() - start > seconds:
            print(f"(a busy machine: {number} of {rounds} rounds)\n", file=sys.stderr)
            break
        first = number % len(names)
        for name in names[first:] + names[:first]:
            figures = sides[name]()
            one = isinstance(figures, (int, float))
            found[name].append(figures if one else statistics.median(figures))
    return found


def timed(action: Callable[[], Any]) -> float:
    """Return the seconds that ``action`` takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def ratio(ours: Sequence[float], peer: Sequence[float]) -> float:
    """Return the median of the ratios within each round."""
    return statistics.median(a / b for a, b in zip(ours, peer))


def milliseconds(figures: Sequence[float]) -> str:
    """Return the median of times in seconds."""
    return f"{statistics.median(figures) * 1000:.4g}"


def bar(value: float, limit: float, text: str = "{:.2f}x") -> str:
    """Return a cell with a figure that must not be above ``limit``, to two decimals as bars are."""
    return text.format(value) + ("" if round(value, 2) <= limit else " **missed**")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a Markdown table; all columns but the first are numbers."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *cells)]
    print("| " + " | ".join(text.ljust(width) for text, width in zip(head, widths)) + " |")
    rules = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    print("| " + " | ".join(rules) + " |")
    for row in cells:
        print("| " + " | ".join(text.ljust(width) for text, width in zip(row, widths)) + " |")
    print(flush=True)


def machine() -> None:
    """Print what the figures were taken on."""
    names = ("torch", "debugpy")
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in names)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(f"{cores} cores, Python {platform.python_version()}, {versions}\n", flush=True)
