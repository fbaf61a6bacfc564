import sys
import threading
import time

from findings import hit, stop

from zentracer.control.stop import own_work

guarded = threading.Event()
noticed = threading.Event()


def find():
    with own_work():  # so that this thread is not suspended before it comes to its own stop
        guarded.set()
        while threading.main_thread().additional_info.pydev_state != 2:
            time.sleep(0.001)
        noticed.set()
        stop(hit("found"), sys._getframe())


thread = threading.Thread(target=find)
thread.start()
guarded.wait()
print("here")  # @breakpoint
thread.join()
