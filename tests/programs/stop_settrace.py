import sys

from findings import hit, stop


def mine(frame, event, arg):
    return None


def work():
    stop(hit("traced"), sys._getframe())  # @stop
    return 1  # @next


sys.settrace(mine)
work()
