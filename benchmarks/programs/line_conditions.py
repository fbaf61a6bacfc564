"""Loops with and without a breakpoint: what benchmarks/line_conditions.py measures.

Prints, as JSON, the CPU time in µs that a turn takes, and which of pydevd's backends traces it.

Usage: python line_conditions.py TURNS
"""

import json
import sys
import time


def tight_free(n):
    for i in range(n):
        last = i
    return last


def tight(n):
    for i in range(n):
        last = i  # @tight
    return last


def called(n):
    for i in range(n):
        turn_free(i)


def calling(n):
    for i in range(n):
        turn(i)


def turn_free(i):
    return i


def turn(i):
    return i  # @turn


def long_free(n):
    for i in range(n):
        a = i
        b = a + i
        c = a + b
        d = b + c
        e = c + d
        f = d + e
        g = e + f
        h = f + g
    return h


def long(n):
    for i in range(n):
        a = i
        b = a + i
        c = a + b
        d = b + c  # @long
        e = c + d
        f = d + e
        g = e + f
        h = f + g
    return h


def measured(function, turns):
    start = time.thread_time()
    function(turns)
    return (time.thread_time() - start) / turns * 1e6


def backend():
    parts = ("_pydevd_sys_monitoring._pydevd_sys_monitoring_cython", "_pydevd_bundle.pydevd_cython")
    part = parts[sys.version_info < (3, 12)]
    return "compiled" if part in sys.modules else "pure Python"


def main():
    turns = int(sys.argv[1])
    pairs = [(tight, tight_free), (calling, called), (long, long_free)]
    found = {"backend": backend(), "version": "{}.{}".format(*sys.version_info)}
    for armed, free in pairs:
        for function in (armed, free):
            function(1000)  # what is made at the first hit is no part of a hit
        costs = [measured(armed, turns) - measured(free, turns) for _ in range(5)]
        found[armed.__name__] = sorted(costs)[2]
    print(json.dumps(found))


main()
