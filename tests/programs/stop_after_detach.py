import os
import sys
import time

from findings import hit, stop

go, done = sys.argv[1:]
print("pid", os.getpid(), flush=True)
first = stop(hit("attached"), sys._getframe())  # @stop
while not os.path.exists(go):
    time.sleep(0.01)
second = stop(hit("detached"), sys._getframe())
with open(done + ".part", "w") as file:
    file.write(f"{first} {second}")
os.rename(done + ".part", done)
