"""Lines of every kind on which a conditional breakpoint may be: reached again and again.

Usage: python kinds.py
"""

import asyncio
import threading


def recursive(n):
    left = n  # @recursion
    return recursive(n - 1) if n else left


def generator(n):
    for i in range(n):  # noqa: UP028
        yield i  # @generator


async def coroutine(n):
    for i in range(n):
        await asyncio.sleep(0)
        got = i  # @coroutine
    return got


def one_line(n):
    while n > 0: n -= 1  # fmt: skip # noqa: E701 # @one-line
    return n


def condition_again(n):
    while n > 0:
        n -= 1  # @condition-again
    return n


def comprehension(n):
    return [i * 2 for i in range(n)]  # @comprehension


def caught(n):
    for i in range(n):
        try:
            raise ValueError(i)  # @raises
        except ValueError:
            pass


def in_thread(n):
    for i in range(n):
        got = i  # @thread


def steps(n):
    total = 0
    for i in range(n):
        total += inner(i)  # @steps
        after = total  # @after
    return after


def inner(i):
    return i  # @inner


recursive(5)
print(list(generator(5)))
asyncio.run(coroutine(5))
one_line(5)
condition_again(3)
comprehension(5)
caught(5)
thread = threading.Thread(target=in_thread, args=(5,))
thread.start()
thread.join()
steps(5)
print("finished")  # @end
