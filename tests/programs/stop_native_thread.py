import _thread
import ctypes
import sys
import threading

from findings import hit, stop

done = threading.Event()


def native(_):
    stop(hit("native"), sys._getframe())  # @stop
    done.set()  # @next
    return 0


# pthread_create is how C++ engines make theirs: Python's threading never hears of it.
entry = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(native)
ident = ctypes.c_ulong()
ctypes.CDLL(None).pthread_create(ctypes.byref(ident), None, entry, None)
done.wait()
_thread.get_ident()
