"""Time of one request, side by side with stock debugpy; bar: at most a tenth of its time.

Usage: python benchmarks/latency.py [--rounds N]

Two editors stand in the same loop (programs/endless.py), one through our adapter and one through
``python -m debugpy.adapter``, and take turns: ``evaluate`` of ``1+1``, ``variables`` of the frame,
and ``next`` until the ``stopped`` event that answers it.
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

BAR = 0.1
PROGRAM = PROGRAMS / "endless.py"


def main() -> None:
    options = arguments(__doc__, rounds=12)
    machine()
    rows = []
    with Client("zentracer") as ours, Client("debugpy") as stock:
        sides = {"ours": requests(ours), "stock": requests(stock)}
        for name in sides["ours"]:
            found = interleaved(
                options.rounds, {side: timing(by_name[name]) for side, by_name in sides.items()}
            )
            share = ratio(found["ours"], found["stock"])
            rows.append(
                (
                    name,
                    milliseconds(found["ours"]),
                    milliseconds(found["stock"]),
                    bar(share, BAR, "{:.3f}"),
                )
            )
    table(("medians in ms", "zentracer", "debugpy", "ours / debugpy (bar 0.1)"), rows)


def requests(client: Client) -> dict[str, Callable[[], object]]:
    """Stand in the loop; returns each request by its name."""
    client.launch(program=PROGRAM, breakpoints={PROGRAM: [line_of(PROGRAM, "here")]})
    stop = client.until_stopped()
    client.set_breakpoints(PROGRAM, [])
    scopes = client.request("scopes", frameId=stop.frame_id)["scopes"]
    reference = scopes[0]["variablesReference"]

    def step() -> None:
        client.request("next", threadId=stop.thread_id)
        client.wait_event("stopped")

    return {
        "evaluate 1+1": lambda: client.evaluate("1+1", stop.frame_id),
        "variables": lambda: client.variables(reference),
        "next": step,
    }


def timing(action: Callable[[], object]) -> Callable[[], list[float]]:
    """Ten in a row, as an editor asks: a machine that slept for 44 ms takes a while to wake."""
    return lambda: [timed(action) for _ in range(10)]


if __name__ == "__main__":
    main()
