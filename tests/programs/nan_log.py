"""Makes a NaN on purpose: ``nan_log.py [plain|ranks|workers]``, torch already imported or not."""

import multiprocessing
import os
import sys

import torch


def make_nan():
    x = torch.full((3,), -1.0)
    y = torch.log(x)  # @nan
    return y  # @after-nan


def rank(number):
    os.environ["RANK"] = str(number)
    make_nan()
    print("rank", number, "done", flush=True)


def in_processes(target, count):
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=target, args=(n,)) for n in range(count)]
    for child in children:
        child.start()
        child.join()


def worker(_):
    make_nan()
    print("worker done", flush=True)


def main():
    how = sys.argv[1] if len(sys.argv) > 1 else "plain"
    if how == "workers":
        in_processes(worker, 1)
    else:
        make_nan()
    print("finished", flush=True)


if __name__ == "__main__":
    main()
