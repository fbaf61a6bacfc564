"""Meets a line whose breakpoint may have a condition that never ends."""

import contextlib
import pathlib
import sys
import threading

GATE = threading.Lock()
GATE.acquire()


def spin():
    while True:
        pass


def stubborn():
    """Catches what ends it, three times."""
    for _ in range(3):
        with contextlib.suppress(BaseException):
            spin()
    spin()


def until(path):
    print("waits", flush=True)
    while not pathlib.Path(path).exists():
        pass


def work():
    total = 0  # @here
    for i in range(3):
        total += i  # @line
    print("total", total, flush=True)
    done.set()


done = threading.Event()
if "thread" in sys.argv:
    threading.Thread(target=work, name="worker").start()
else:
    work()
done.wait()
print("ended", flush=True)
for argument in sys.argv[1:]:
    if argument.endswith(".txt"):
        pathlib.Path(argument).touch()
