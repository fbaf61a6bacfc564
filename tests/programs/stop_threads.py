import sys
import threading

from findings import hit, stop

both = threading.Barrier(2)


def work(name):
    both.wait()
    stop(hit(name), sys._getframe())  # @stop


threads = [threading.Thread(target=work, args=(name,)) for name in ("one", "two")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
