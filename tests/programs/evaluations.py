"""Evaluations that need another thread, take long or never end. For tests of the debugger."""

import queue
import sys
import threading

GATE = threading.Semaphore(0)


class Loader:
    def __init__(self):
        self.asks, self.replies = queue.Queue(), queue.Queue()
        self.seen = 0
        threading.Thread(target=self.work, name="worker", daemon=True).start()

    def work(self):
        while True:
            item = self.asks.get()
            self.seen += 1  # @seen
            self.replies.put(item)  # @worker

    @property
    def next_batch(self):
        self.asks.put("batch")
        return self.replies.get()

    @property
    def blocked(self):
        return queue.Queue().get()


class Stubborn:
    """Catches whatever ends it, as often as it is asked for."""

    def __init__(self, times):
        self.times = times

    def __repr__(self):
        while self.times:
            try:
                queue.Queue().get()
            except BaseException:
                self.times -= 1
        return "worn down"


def never():
    queue.Queue().get()


def spin():
    while True:
        pass


def step(loader):
    first = loader.next_batch
    print("first", first)  # @here
    print("second", loader.next_batch)  # @next


def main():
    loader = Loader()
    if "thread" in sys.argv:
        thread = threading.Thread(target=step, args=(loader,), name="stepper")
        thread.start()
        thread.join()
    else:
        step(loader)


main()
print("ended")
