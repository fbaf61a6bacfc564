"""A program with something for every stepping and breakpoint test."""

import sys


def double(n):
    result = n * 2  # @double
    return result  # @double-return


def fail():
    raise ValueError("broken on purpose")  # @raise


def main():
    total = 0  # @first
    for i in range(5):
        total += double(i)  # @loop
    print("total", total)  # @print
    if "raise" in sys.argv:
        try:
            fail()  # @call-fail
        except ValueError:
            print("handled")
    if "crash" in sys.argv:
        fail()
    print("to stderr", file=sys.stderr)
    return total


if __name__ == "__main__":
    main()  # @main
    sys.exit(3 if "exit3" in sys.argv else 0)
