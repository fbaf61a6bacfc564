"""What one breakpoint by name adds to one call, for benchmarks/function_breakpoints.py.

Usage: python named_calls.py

Answers one JSON object of microseconds: processor time of one thread, the best of several runs, so
that other programs on the machine count as little as they can.
"""

import json
import sys
import time
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.runtime.watching import breaking

RUNS, CALLS = 9, 200
CONDITIONS = ("step < 0", "norm > 1e9", "nan > 0", "mean > 100")


class Through(nn.Module):
    def forward(self, x):
        return x


def main():
    torch.set_num_threads(1)
    x, y = torch.randn(8, 64, 256), torch.randn(4)
    many = nn.Sequential(*[Through() for _ in range(100)])
    one = nn.Sequential(Through())
    found = {"module: of another": added(lambda: many(x), "module:nothing.*") / 101}
    for condition in CONDITIONS:
        found[f"module: if {condition}"] = added(lambda: one(x), f"module:0 if {condition}")
    found["the norm alone"] = best(lambda: x.norm() > 1e9)
    found["op: of another"] = added(lambda: torch.sigmoid(y), "op:log")
    for condition in ("step < 0", "nan > 0"):
        found[f"op: if {condition}"] = added(lambda: torch.sigmoid(y), f"op:sigmoid if {condition}")
    json.dump(found, sys.stdout)


def added(call, name):
    plain = best(call)
    with breaking(name) as host:
        armed = best(call)
    assert host.hits == [], host.hits
    return armed - plain


def best(call):
    found = []
    for _ in range(RUNS):
        start = time.thread_time()
        for _ in range(CALLS):
            call()
        found.append((time.thread_time() - start) / CALLS)
    return min(found) * 1e6


main()
