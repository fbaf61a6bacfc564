"""Time of 20 watches of tensors at a stop, side by side with stock debugpy; then that of a step.

Usage: python benchmarks/watches.py [--rounds N]

Both editors stop in the same loop (programs/watched_tensors.py, tensors of 512 x 512) and take
turns: one goes on to the next stop and evaluates 20 watches there, as an editor does, and the same
as hovers. Bar: at most a tenth of stock debugpy's time. Then, in this process, the processor time
that five watches take of a training step; bar: 0.2 ms.
"""

from __future__ import annotations

import statistics
import sys
import threading
import time
from typing import Any, Callable

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
STEP_BAR_MS = 0.2
PROGRAM = PROGRAMS / "watched_tensors.py"
WATCHES = [f"tensors[{number}]" for number in range(20)]


def main() -> None:
    options = arguments(__doc__, rounds=12)
    machine()
    rows = []
    with Client("zentracer") as ours, Client("debugpy") as stock:
        for client in (ours, stock):
            client.launch(program=PROGRAM, breakpoints={PROGRAM: [line_of(PROGRAM, "here")]})
            client.until_stopped()
        for context in ("watch", "hover"):
            sides = {"ours": at_stops(ours, context), "stock": at_stops(stock, context)}
            found = interleaved(options.rounds, sides)
            share = bar(ratio(found["ours"], found["stock"]), BAR, "{:.3f}")
            times = (milliseconds(found["ours"]), milliseconds(found["stock"]))
            rows.append((f"20 tensors, {context}", *times, share))
    table(("medians in ms", "zentracer", "debugpy", "ours / debugpy (bar 0.1)"), rows)
    steps()


def at_stops(client: Client, context: str) -> Callable[[], float]:
    """Go on to the next stop; then the seconds that all watches take there."""

    def measure() -> float:
        client.resume()
        stop = client.until_stopped()
        return timed(lambda: [client.evaluate(name, stop.frame_id, context) for name in WATCHES])

    return measure


def steps() -> None:
    """What five watches take of a step: processor time of the training thread."""
    import torch

    from zentracer.frameworks.pytorch.watched import step_completed
    from zentracer.watches.clock import clock
    from zentracer.watches.table import watches

    model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.Linear(1024, 10))
    loss = model(torch.randn(8, 1024)).pow(2).mean()
    loss.backward()
    values = {
        "five large": [f"model[0].{name}" for name in ("weight", "weight.grad", "bias")]
        + ["model[1].weight", "model[1].weight.grad"],
        "five small": [
            "loss",
            "model[1].bias",
            "model[1].bias.grad",
            "model[0].bias",
            "model[1].bias[0]",
        ],
    }
    rows: list[Any] = []
    for what, expressions in values.items():
        watches.forget()
        clock.stopped()
        for expression in expressions:
            value: Any = eval(expression)
            watches.see(expression, sys._getframe(), threading.get_ident(), value)
        found = []
        for number in range(20):  # of 20 steps: fewer than a history holds, so that all are read
            start = time.thread_time()
            for step in range(number * 20, number * 20 + 20):
                step_completed(step, print)
            found.append((time.thread_time() - start) * 1000 / 20)
        milli = statistics.median(found)
        rows.append((what, bar(milli, STEP_BAR_MS, "{:.3f}")))
    table(("watches", "ms of a step (bar 0.2)"), rows)


if __name__ == "__main__":
    main()
