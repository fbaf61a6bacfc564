"""Trains a model with and without a breakpoint by name, for benchmarks/function_breakpoints.py.

Usage: python named_breakpoints.py MODEL ROUNDS SECONDS NAME [CONDITION]

Answers one JSON object: for each round the median seconds of a step with nothing armed (``plain``),
with the breakpoint (``armed``), and with a hook on the module that tests the same (``hook``; only
for ``module:``). Processor time of one thread.
"""

import json
import statistics
import sys
import time
from pathlib import Path

import torch

BENCHMARKS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCHMARKS), str(BENCHMARKS.parent)]

from models import MODELS  # noqa: E402

from tests.runtime.watching import breaking  # noqa: E402

WARM, COUNTED = 5, 4
"""ZenTracer times its own overhead in the third and the fourth step, and then in one of many."""
HOOKS = {
    "step < 0": lambda number, x: number < 0,
    "norm > 1e9": lambda number, x: x.norm() > 1e9,
    "nan > 0": lambda number, x: x.isnan().sum() > 0,
}


def main():
    model, rounds, seconds, name, *condition = sys.argv[1:]
    torch.set_num_threads(1)
    step = MODELS[model]()
    sides = {"plain": lambda: timed(step), "armed": lambda: armed(step, name, condition)}
    if name.startswith("module:"):
        sides["hook"] = lambda: hooked(step, name.partition(":")[2], condition[0])
    found = {side: [] for side in sides}
    timed(step)
    end = time.monotonic() + float(seconds)
    for number in range(int(rounds)):
        if number >= 5 and time.monotonic() > end:
            break
        order = list(sides)
        for side in order[number % len(order) :] + order[: number % len(order)]:
            found[side].append(sides[side]())
    json.dump(found, sys.stdout)


def armed(step, name, condition):
    with breaking(" if ".join([name, *condition])) as host:
        took = timed(step)
        assert all(status.verified for status in host.statuses.values()), host.statuses
    assert host.hits == [] and host.notices == [], (host.hits, host.notices)
    return took


def hooked(step, name, condition):
    """The peer: what somebody would write into the program."""
    module = named_module(name)
    number, holds = 0, HOOKS[condition]

    def hook(module, args):
        nonlocal number
        number += 1
        if holds(number, args[0]):
            breakpoint()

    handle = module.register_forward_pre_hook(hook)
    try:
        return timed(step)
    finally:
        handle.remove()


def named_module(name):
    from zentracer.frameworks.pytorch.live_names import modules

    return modules(name)[0][1]


def timed(step):
    for _ in range(WARM):
        step()
    seconds = []
    for _ in range(COUNTED):
        start = time.thread_time()
        step()
        seconds.append(time.thread_time() - start)
    return statistics.median(seconds)


main()
