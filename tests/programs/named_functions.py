"""Functions of all kinds, for breakpoints by qualified name. No framework."""

import contextlib
import functools
import json.decoder


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


def bare(function):
    def call(*args):
        return function(*args)

    return call


class Base:
    def forward(self, x):
        return x + 1  # @base

    @classmethod
    def build(cls):
        return cls()  # @build


class Encoder(Base):
    @staticmethod
    def scale(x):
        return 2 * x  # @scale


class Decoder(Base):
    def forward(self, x):
        return super().forward(x) * 3  # @decoder


class Other:
    def forward(self, x):
        return x - 1  # @other

    class Inner:
        def forward(self, x):
            return x  # @inner_class


def outer(x):
    def inner(y):
        return y * y  # @inner

    return inner(x)


@decorated
def wrapped(x):
    return x + 10  # @wrapped


@bare
def hidden(x):
    return x + 20  # @hidden


async def coroutine(x):
    return x + 30  # @coroutine


def generator(x):
    yield x  # @generator
    yield x + 1


def main():
    for x in range(4):
        Encoder.build().forward(x)
        Decoder().forward(x)
        Other().forward(x)
        Other.Inner().forward(x)
        Encoder.scale(x)
        outer(x)
        wrapped(x)
        hidden(x)
        list(generator(x))
        with contextlib.suppress(StopIteration):
            coroutine(x).send(None)
        json.loads(f'{{"a": {x}}}')


main()
