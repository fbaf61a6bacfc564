"""Variants of real faults: each is named for its line, and its healthy twin stays silent."""

from __future__ import annotations

import warnings
from typing import Iterator

import pytest

torch = pytest.importorskip("torch")

from tests.programs.faults import FAULTS
from tests.runtime.watching import Host, watching_for
from zentracer.wire.filters import ALL
from zentracer.wire.messages import HitDetails

EVERY = tuple(f.id.split(".")[1] for f in ALL)
NOT_YET = """
    always_the_first_batch
    targets_shuffled_alone rate_far_too_small learnt_by_heart one_in_a_hundred
    dropout_in_generation
    attention_over_the_batch
    encoder_over_the_batch view_instead_of_transpose
    normalised_by_the_whole_batch gate_that_is_shut
    float16_activations_at_their_limit
""".split()
"""Faults that nothing names yet, or not for the marked line. Whoever finds one strikes it off."""


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """The programs are small: threads would only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def run(name: str, *, fault: bool) -> Host:
    """Run a program with everything armed; it checks itself that its symptom is as it should be."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with watching_for(*EVERY, advice=True) as host:
            FAULTS[name].run(fault)
    return host


def reports(host: Host) -> list[tuple[str, HitDetails]]:
    """Return what was found, as (filter or rule, details)."""
    hits = [(hit.details.filter, hit.details) for hit in host.hits]
    return hits + [(advice.rule, advice.details) for advice in host.advice]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.xfail(reason="not found yet", strict=True))
        if name in NOT_YET
        else name
        for name in FAULTS
    ],
)
def test_named_for_its_line(name: str) -> None:
    fault = FAULTS[name]
    marked = {*fault.lines("culprit"), *fault.lines("origin")}
    found = reports(run(name, fault=True))
    blamed = [details.origin for kind, details in found if kind == fault.expected]
    assert marked & {origin.line for origin in blamed if origin is not None}, found
    assert {kind for kind, _ in found} <= {fault.expected, *fault.also}


@pytest.mark.parametrize("name", FAULTS)
def test_twin_is_silent(name: str) -> None:
    host = run(name, fault=False)
    assert [(kind, details.op, details.origin) for kind, details in reports(host)] == []
    assert host.notices == []
