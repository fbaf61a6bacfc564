"""
place: a thread that Python's threading did not start, as C++ engines make theirs
stops: 4
condition: n == 2 -> 2
"""

import ctypes
import sys
import threading
import time

done = threading.Semaphore(0)
SEES_ALL = sys.version_info >= (3, 12)


def inner(n):
    return n * 2  # <- breakpoint


def serve(n):
    twice = inner(n)
    return twice  # <- breakpoint


def native(n):
    # Before 3.12 a debugger comes to know a native thread a little after its first call.
    for _ in range(1000):
        if SEES_ALL or sys.gettrace() is not None:
            break
        time.sleep(0.01)
    serve(n)
    done.release()
    return 0


entry = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(native)
for number in (1, 2):
    ident = ctypes.c_ulong()
    ctypes.CDLL(None).pthread_create(ctypes.byref(ident), None, entry, ctypes.c_void_p(number))
    done.acquire()
print("done")
