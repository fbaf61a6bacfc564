import sys
from functools import partial

from findings import hit, stop


def work(value):
    before = value * 2
    after = before + len(str(stop(hit("direct"), sys._getframe())))  # @direct
    last = after + 1  # @direct-next
    return last


def in_c(value):
    check = partial(stop, hit("from C"), sys._getframe())
    done = list(map(check, [None])) and value  # @in-c
    return done  # @in-c-next


def callee(value):
    return value  # @callee


def then_call(value):
    found = callee(value) if stop(hit("then call"), sys._getframe()) else None  # @then-call
    return found  # @then-call-next


def main():
    one = work(20)  # @call-work
    two = in_c(one)  # @after-work
    three = then_call(two)  # @after-in-c
    print("finished", one, two, three)  # @end


main()
