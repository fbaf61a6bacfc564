"""Time from starting the adapter to the program's first line; bar: 1.2x of stock debugpy.

Usage: python benchmarks/startup.py [--rounds N]

A session as an editor starts it: spawn the adapter, initialize, launch with one breakpoint on the
marked line (of a trivial program, and of one that imports torch before it), until ``stopped``.
The session with torch has "NaN or Inf" armed, as it is by default.
"""

from __future__ import annotations

from typing import Callable

from measuring import (
    PROGRAMS,
    Client,
    arguments,
    bar,
    interleaved,
    line_of,
    machine,
    milliseconds,
    ratio,
    table,
    timed,
)

BAR = 1.2
SHARES = {"trivial.py": 2, "imports_torch.py": 1}
"""Rounds of each program, in shares: the first is the faster and its ratio the more exact."""


def main() -> None:
    options = arguments(__doc__, rounds=7)
    machine()
    rows = []
    for program, share in SHARES.items():
        found = interleaved(
            options.rounds * share,
            {adapter: starting(adapter, program) for adapter in ("zentracer", "debugpy")},
        )
        ours, stock = found["zentracer"], found["debugpy"]
        rows.append(
            (program, milliseconds(ours), milliseconds(stock), bar(ratio(ours, stock), BAR))
        )
    table(("medians in ms", "zentracer", "debugpy", "ours / debugpy (bar 1.2x)"), rows)


def starting(adapter: str, program: str) -> Callable[[], float]:
    path = PROGRAMS / program
    filters = ["uncaught", *(["zentracer.nonfinite"] if adapter == "zentracer" else [])]

    def start() -> float:
        clients: list[Client] = []

        def until_first_line() -> None:
            client = Client(adapter)
            clients.append(client)
            client.launch(
                program=path, breakpoints={path: [line_of(path, "first")]}, exceptions=filters
            )
            client.wait_event("stopped")

        try:
            return timed(until_first_line)
        finally:
            for client in clients:
                client.close()

    return start


if __name__ == "__main__":
    main()
