"""
place: child processes by fork, spawn, forkserver and subprocess
stops: 4
"""

import multiprocessing
import subprocess
import sys


def work(kind):
    print(kind, flush=True)  # <- breakpoint


if __name__ == "__main__":
    if len(sys.argv) > 1:
        work(sys.argv[1])
        sys.exit()
    for kind in ("fork", "spawn", "forkserver"):
        process = multiprocessing.get_context(kind).Process(target=work, args=(kind,))
        process.start()
        process.join()
    subprocess.run([sys.executable, __file__, "subprocess"], check=True)
