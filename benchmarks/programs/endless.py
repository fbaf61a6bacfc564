"""A loop to step in: what benchmarks/latency.py stands in."""

import sys


def turn(count):
    name, share, items = "turn", 0.25, [1, 2, 3]
    table = {"a": 1, "b": 2}
    while True:
        count += 1  # @here
        share = share + 1
        items[0] = count
        table["a"] = name


turn(len(sys.argv))
