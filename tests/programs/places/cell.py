"""
place: a notebook cell, as a kernel runs it: source compiled under a file's name
stops: 3
condition: n == 1 -> 1
"""

import sys
from pathlib import Path

# A kernel gives each cell a file of its own; here it is this file, from a mark on.
path = Path(__file__)
head, _, cell = path.read_text(encoding="utf-8").partition("# %%\n")
if __name__ == "__main__":
    source = "\n" * (head.count("\n") + 1) + cell
    exec(compile(source, str(path), "exec"), {"__name__": "cell", "print": print})
    sys.exit()


# %%
def double(n):
    return 2 * n  # <- breakpoint


for n in range(3):
    print(double(n))
