"""Two ranks that talk over pipes: they wait for each other twice, rank 0 first."""

import os
import select
import subprocess
import sys


def is_waiting(pipe):
    return bool(select.select([pipe], [], [], 0.001)[0])


def rank_0(to_other, from_other):
    os.read(from_other, 1)  # the other one is under way
    first = 1  # @first
    os.write(to_other, b"a")
    os.read(from_other, 1)  # @exchange
    after = first + 1  # @after
    os.write(to_other, b"b")
    return after


def rank_1(to_other, from_other):
    n = 0
    os.write(to_other, b"y")
    while not is_waiting(from_other):
        n += 1  # @spin
    print("spins", n, flush=True)
    os.read(from_other, 1)
    os.write(to_other, b"z")
    while not is_waiting(from_other):
        n += 1


def main():
    if len(sys.argv) > 1:
        ends = [int(end) for end in sys.argv[1:]]
        (rank_1 if os.environ["RANK"] == "1" else rank_0)(*ends)
        return
    (read_0, write_1), (read_1, write_0) = os.pipe(), os.pipe()
    ranks = []
    for rank, ends in enumerate([(write_0, read_0), (write_1, read_1)]):
        command = [sys.executable, __file__, *map(str, ends)]
        env = {**os.environ, "RANK": str(rank)}
        ranks.append(subprocess.Popen(command, env=env, pass_fds=ends))
    for process in ranks:
        process.wait()
    print("all ranks done", flush=True)


if __name__ == "__main__":
    main()
