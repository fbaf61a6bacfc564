"""Time of a training step with "NaN or Inf" armed, and with nothing armed.

Usage: python benchmarks/step_time.py [--rounds N] [--threads N] [--cpu]

Three processes train the same model (models.py) on command (programs/steps.py): one without a
debugger, one under our adapter, one under stock debugpy. They take turns, a few steps each, and
only one runs at a time. Bars: armed at most 1.10x of unarmed in the same process; with nothing
armed 1.01x of stock debugpy, whose own tracing both sides carry. Peers, in the same process as the
plain steps: ``torch.autograd.set_detect_anomaly(True)`` and ``isnan`` after every operation.

Torch's threads wait asleep here (``OMP_WAIT_POLICY=passive``): where they spin, another busy
process makes a step ten times as long at random. ``--threads 1 --cpu`` takes the processor time of
one thread, which is steady on any machine.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from contextlib import ExitStack
from typing import Any, Callable

from measuring import (
    PROGRAMS,
    Client,
    arguments,
    bar,
    interleaved,
    machine,
    milliseconds,
    ratio,
    table,
)
from models import MODELS

ARMED_BAR, NOTHING_BAR = 1.10, 1.01
PROGRAM = PROGRAMS / "steps.py"
STEPS = 3
Starter = Callable[[list[str]], None]
Sides = dict[str, Callable[[], list[float]]]
FILTER = "zentracer.nonfinite"


def main() -> None:
    options = arguments(
        __doc__, rounds=7, threads=2, cpu="processor time instead of time on the wall"
    )
    how = [str(options.threads), "cpu" if options.cpu else "wall"]
    machine()
    os.environ["OMP_WAIT_POLICY"] = "passive"  # inherited by all three processes
    with ExitStack() as stack:
        bare = Bare(stack, how)
        ours, stock = (Debugged(stack, how, name) for name in ("zentracer", "debugpy"))
        for model in MODELS:
            for process in (bare, ours, stock):
                process.order(model=model)
            report_armed(model, interleaved(options.rounds, armed_sides(bare, ours), seconds=45))
            # 1 % is hard to see: fewer sides and more rounds.
            plain = plain_sides(bare, ours, stock)
            report_nothing(model, interleaved(2 * options.rounds, plain, seconds=30))


def plain_sides(bare: Bare, ours: Debugged, stock: Debugged) -> Sides:
    return {
        "bare": lambda: bare.steps("nothing"),
        "ours": lambda: ours.steps("nothing"),
        "stock": lambda: stock.steps("nothing"),
    }


def armed_sides(bare: Bare, ours: Debugged) -> Sides:
    return {
        "bare": lambda: bare.steps("nothing"),
        "bare, armed": lambda: bare.steps("watching", modes=1),
        "bare, anomaly": lambda: bare.steps("anomaly"),
        "bare, isnan": lambda: bare.steps("isnan"),
        "ours": lambda: ours.steps("nothing"),
        "ours, armed": lambda: ours.armed_steps(),
        "ours, anomaly": lambda: ours.steps("anomaly"),
        "ours, isnan": lambda: ours.steps("isnan"),
    }


def report_armed(model: str, found: dict[str, list[float]]) -> None:
    rows = []
    for name, label in (("bare", "no debugger"), ("ours", "under the debugger")):
        plain = found[name]
        rows.append(
            (
                label,
                milliseconds(plain),
                bar(ratio(found[f"{name}, armed"], plain), ARMED_BAR),
                f"{ratio(found[f'{name}, anomaly'], plain):.2f}x",
                f"{ratio(found[f'{name}, isnan'], plain):.2f}x",
            )
        )
    head = (model, "plain step, ms", "armed (bar 1.10x)", "anomaly mode", "isnan mode")
    table(head, rows)


def report_nothing(model: str, found: dict[str, list[float]]) -> None:
    nothing = bar(ratio(found["ours"], found["stock"]), NOTHING_BAR, "{:.3f}x")
    head = ("nothing armed", "ours / stock debugpy (bar 1.01x)", "ours / no debugger", "stock / no")
    whole = (f"{ratio(found[side], found['bare']):.3f}x" for side in ("ours", "stock"))
    table(head, [(model, nothing, *whole)])


class Training:
    """A process that trains on command."""

    def __init__(self, stack: ExitStack, how: list[str], start: Starter) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            start([f"127.0.0.1:{server.getsockname()[1]}", *how])
            connection, _ = server.accept()
        self._stream = stack.enter_context(connection.makefile("rw"))

    def order(self, **order: Any) -> Any:
        """Send an order and return its answer."""
        self._stream.write(json.dumps(order) + "\n")
        self._stream.flush()
        return json.loads(self._stream.readline())

    def steps(self, under: str, *, modes: int = 0) -> list[float]:
        """Run steps; ``modes`` tells whether they must be watched."""
        answer = self.order(steps=STEPS, under=under)
        assert answer["modes"] == modes, f"{answer['modes']} modes watched the steps"
        return answer["seconds"]


class Bare(Training):
    """Without a debugger."""

    def __init__(self, stack: ExitStack, how: list[str]) -> None:
        def start(args: list[str]) -> None:
            stack.enter_context(subprocess.Popen([sys.executable, str(PROGRAM), *args]))

        super().__init__(stack, how, start)


class Debugged(Training):
    """Under a debugger, as an editor starts it."""

    def __init__(self, stack: ExitStack, how: list[str], adapter: str) -> None:
        self._client = stack.enter_context(Client(adapter))

        def start(args: list[str]) -> None:
            self._client.launch(program=PROGRAM, args=args, exceptions=["uncaught"])

        super().__init__(stack, how, start)

    def armed_steps(self) -> list[float]:
        """Run steps with our box ticked in the editor."""
        answer = self._client.set_exceptions(["uncaught", FILTER])
        assert answer["breakpoints"][1]["verified"], answer
        try:
            return self.steps("nothing", modes=1)
        finally:
            self._client.set_exceptions(["uncaught"])


if __name__ == "__main__":
    main()
