"""Which lines something else runs in place of Python."""

from __future__ import annotations

import functools
import sys
from types import FrameType
from typing import Any

import pytest

pytest.importorskip("torch")

from torch import nn

from zentracer.frameworks.pytorch.compiled_regions import CAPTURED, COMPILED, block_of, regions_of


class Capture:
    """Stands where ``torch.cuda.graph`` stands, which needs a GPU."""

    def __enter__(self) -> Capture:
        self.region = block_of(sys._getframe(1))
        return self

    def __exit__(self, *_: object) -> None:
        pass


def test_the_block_of_a_capture() -> None:
    with Capture() as capture:
        first = here().f_lineno
        last = here().f_lineno
    region = capture.region
    assert region is not None
    assert (region.kind, region.first, region.last) == (CAPTURED, first, last)
    assert (region.path, region.name) == (__file__, "test_the_block_of_a_capture")


def test_a_capture_without_a_block_is_no_region() -> None:
    capture = Capture()
    capture.__enter__()
    assert capture.region is None


def here() -> FrameType:
    return sys._getframe(1)


class Inner(nn.Module):
    def forward(self, x: Any) -> Any:
        return x


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(Inner(), Inner(), nn.Linear(2, 2))

    def forward(self, x: Any) -> Any:
        return self.layers(x)


def test_a_module_and_its_children_once_each() -> None:
    found = list(regions_of(COMPILED, Outer(), here()))
    assert [region.name for region in found] == ["forward", "forward"]
    assert {region.first for region in found} == {
        Inner.forward.__code__.co_firstlineno,
        Outer.forward.__code__.co_firstlineno,
    }
    assert all(region.where.startswith("test_compiled_regions.py:") for region in found)


def test_a_wrapped_function() -> None:
    def double(x: Any) -> Any:
        return 2 * x

    @functools.wraps(double)
    def wrapper(*args: Any) -> Any:
        return double(*args)

    (region,) = regions_of(COMPILED, wrapper, here())
    assert (region.name, region.last) == ("double", region.first + 1)
