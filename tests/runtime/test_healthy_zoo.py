"""Healthy trainings of many kinds, with every filter armed: silent, and the same losses."""

from __future__ import annotations

import sys
from typing import Iterator

import pytest

torch = pytest.importorskip("torch")

from tests.programs.zoo import ZOO
from tests.runtime.watching import watching_for
from zentracer.wire.filters import ALL

STEPS = 300
EVERY = tuple(f.id.split(".")[1] for f in ALL)
NO_TREND = {"gan", "dcgan", "reinforce"}
"""Players against each other, and rewards: their losses need not fall."""
CANNOT_LOOK = {
    "optimiser_in_backward": "no parameter has a gradient after the backward pass",
    "mode_and_compile": "sees no operation inside compiled code",
}
"""What is said instead of silence, where it cannot be known whether all is well."""


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """The programs are small: threads would only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def run(name: str) -> list[float]:
    if "torch._dynamo" in sys.modules:
        torch._dynamo.reset()
    return ZOO[name](STEPS)


@pytest.mark.parametrize("name", ZOO)
def test_silent_and_unchanged(name: str) -> None:
    losses = run(name)
    with watching_for(*EVERY, advice=True) as host:
        watched = run(name)
    assert [hit.text for hit in host.hits] == []
    assert [f"{advice.rule}: {advice.text}" for advice in host.advice] == []
    said = CANNOT_LOOK.get(name)
    assert [notice for notice in host.notices if said is None or said not in notice] == []
    assert watched == losses
    tenth = len(losses) // 10
    assert name in NO_TREND or sum(losses[-tenth:]) < sum(losses[:tenth])
