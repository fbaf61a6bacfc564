"""Starts child processes: ``children.py fork|spawn|subprocess [COUNT]``."""

import multiprocessing
import subprocess
import sys


def work(n):
    value = n + 100  # @child
    print("child", value, flush=True)


def main():
    kind, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    if kind == "subprocess":
        for n in range(count):
            subprocess.run([sys.executable, __file__, "work", str(n)], check=True)
    elif kind == "work":
        work(count)
    else:
        context = multiprocessing.get_context(kind)
        processes = [context.Process(target=work, args=(n,)) for n in range(count)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
    print("parent done", flush=True)  # @parent-done


if __name__ == "__main__":
    main()
