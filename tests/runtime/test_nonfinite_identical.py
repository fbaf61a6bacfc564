"""The run is not changed by looking at it: the same bits with and without the watch."""

from __future__ import annotations

import functools
import random
import re
import sys
from typing import Any, Iterator

import numpy
import pytest

torch = pytest.importorskip("torch")

import tests.programs.training_tools  # noqa: F401  (adds programs)
from tests.programs.training import PROGRAMS
from tests.runtime.watching import EVERYTHING, watching, watching_for

STEPS = 50


def bits(value: Any) -> Any:
    """Return ``value`` as something that compares equal only if every bit is the same."""
    if isinstance(value, torch.Tensor):
        value = value.detach()
        return (str(value.dtype), tuple(value.shape), value.contiguous().numpy().tobytes())
    return re.sub(r"___torch_mangle_\d+\.| # .*", "", repr(value).replace("\\n", "\n"))


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """The programs are small: threads would only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def run(name: str) -> tuple[list[Any], Any]:
    """Run a program from fixed seeds; return its results and the state of every generator."""
    torch.manual_seed(1)
    random.seed(1)
    numpy.random.seed(1)
    if "torch._dynamo" in sys.modules:
        torch._dynamo.reset()
    results = PROGRAMS[name](STEPS)
    states = (
        torch.get_rng_state().numpy().tobytes(),
        random.getstate(),
        repr(numpy.random.get_state()),
    )
    return [bits(value) for value in results], states


@functools.cache
def unwatched(name: str) -> tuple[list[Any], Any]:
    return run(name)


@pytest.mark.parametrize("precise", [False, True], ids=["normal", "precise"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_same_bits_under_the_watch(name: str, precise: bool) -> None:
    expected = unwatched(name)
    with watching(precise=precise) as host:
        assert run(name) == expected
    assert host.notices == []
    assert [hit.text for hit in host.hits] == []


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_bits_after_the_watch(name: str) -> None:
    expected = unwatched(name)
    with watching():
        torch.ones(1).exp()
    assert run(name) == expected


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_bits_with_everything_armed(name: str) -> None:
    expected = unwatched(name)
    with watching_for(*EVERYTHING, advice=True) as host:
        assert run(name) == expected
    # Some programs have nothing to see: compiled code, gradients that are gone after backward.
    assert [n for n in host.notices if "cannot look" not in n and "compiled code" not in n] == []
