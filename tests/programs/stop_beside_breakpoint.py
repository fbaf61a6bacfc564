import sys
import threading

from findings import hit, stop

both = threading.Barrier(2)


def find():
    both.wait()
    stop(hit("found"), sys._getframe())


thread = threading.Thread(target=find)
thread.start()
both.wait()
print("here")  # @breakpoint
thread.join()
