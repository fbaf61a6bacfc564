"""
place: a script that another program runs with `runpy`, as a launcher does
stops: 2
condition: n == 1 -> 1
"""

import runpy


def work():
    for n in range(2):
        print(n)  # <- breakpoint


if __name__ == "__main__":
    runpy.run_path(__file__, run_name="inner")
elif __name__ == "inner":
    work()
