"""
place: a generator, its `send`, and its end
stops: 4
condition: n == 1 -> 1
"""


def numbers():
    for n in range(3):
        got = yield n  # <- breakpoint
    return got  # <- breakpoint


source = numbers()
print(next(source), source.send("a"), source.send("b"), next(source, "end"))
