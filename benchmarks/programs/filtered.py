"""Trains a model with and without a group of tensor exceptions, for benchmarks/filters.py.

Usage: python filtered.py MODEL GROUP wall|cpu THREADS ROUNDS

Answers one JSON object: for each round the median seconds of a step with nothing armed (``plain``),
of the first 20 steps armed, and of those after 40.
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

from tests.runtime.watching import watching_for  # noqa: E402

FIRST, SETTLED, COUNTED, PLAIN = 20, 40, 12, 12
ALL = "nonfinite exploding vanishing dead saturated stalled loss_spike shape precision".split()


def main():
    model, group, how, threads, rounds = sys.argv[1:]
    torch.set_num_threads(int(threads))
    clock = time.process_time if how == "cpu" else time.perf_counter
    names, _, remark = group.partition(", ")
    filters = ALL if names == "all" else names.split(" + ")
    step = MODELS[model]()
    found = {"plain": [], "armed": [], "first": []}
    timed(step, clock, 5)
    for _ in range(int(rounds)):
        plain = timed(step, clock, PLAIN)
        with watching_for(*filters, advice="advice" not in remark) as host:
            first = timed(step, clock, FIRST)
            timed(step, clock, SETTLED - FIRST)
            armed = timed(step, clock, COUNTED)
        plain += timed(step, clock, PLAIN)
        assert host.hits == [] and host.notices == [], (host.hits, host.notices)
        found["plain"].append(statistics.median(plain))
        found["first"].append(statistics.mean(first))
        found["armed"].append(statistics.mean(armed))
    json.dump(found, sys.stdout)


def timed(step, clock, times):
    seconds = []
    for _ in range(times):
        start = clock()
        step()
        seconds.append(clock() - start)
    return seconds


main()
