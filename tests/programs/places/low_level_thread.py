"""
place: a thread of the `_thread` module, and an executor's
stops: 3
condition: n == 2 -> 1
"""

import _thread
from concurrent.futures import ThreadPoolExecutor

done = _thread.allocate_lock()
done.acquire()


def work(n):
    total = n + 1  # <- breakpoint
    return total


def started(n):
    work(n)
    done.release()


_thread.start_new_thread(started, (1,))
done.acquire()
with ThreadPoolExecutor(1) as pool:
    print(list(pool.map(work, [2, 3])))
