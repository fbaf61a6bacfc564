"""Waits for a debugger to attach: ``listens.py listen FILE [wait]`` or ``connect FILE PORT``."""

import os
import sys
import time

import debugpy


def main():
    how, path = sys.argv[1:3]
    if how == "listen":
        port = debugpy.listen(("127.0.0.1", 0))[1]
        with open(path + ".part", "w") as file:
            file.write(str(port))
        os.rename(path + ".part", path)
    else:
        debugpy.connect(("127.0.0.1", int(sys.argv[3])))
    debugpy.wait_for_client()
    value = 42
    print("attached", value)  # @attached
    while "wait" in sys.argv and not os.path.exists(path + ".go"):
        time.sleep(0.01)  # @wait
    with open(path + ".done", "w") as file:
        file.write("done")


if __name__ == "__main__":
    main()
