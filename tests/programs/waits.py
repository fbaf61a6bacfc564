"""Runs until a file appears; says where it is by creating one. For tests of ending."""

import os
import sys
import time


def main():
    ready, go, done = sys.argv[1:4]
    with open(ready + ".part", "w") as file:
        file.write(str(os.getpid()))
    os.rename(ready + ".part", ready)
    while not os.path.exists(go):
        time.sleep(0.01)  # @wait
    print("going on")
    with open(done, "w") as file:
        file.write("done")


if __name__ == "__main__":
    main()
