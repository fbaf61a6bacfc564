"""
place: code that Python itself calls: sort keys, decorators, properties, context managers, __del__
stops: 7
condition: self is None -> 0
"""

import contextlib
import functools


def key(self):
    return -self  # <- breakpoint


@functools.lru_cache(4)
def cached(self):
    return self + 1  # <- breakpoint


class Thing:
    @property
    def size(self):
        return 3  # <- breakpoint


class Gone:
    def __del__(self):
        print("gone")  # <- breakpoint


@contextlib.contextmanager
def block(self):
    yield self  # <- breakpoint


print(sorted([1, 2], key=key), cached(1), cached(1))
thing = Thing()
print(thing.size)
Gone()
with block(1):
    print([cached(self) for self in (1, 2)])
