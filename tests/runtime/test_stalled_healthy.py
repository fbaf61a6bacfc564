"""Trainings that look as if something did not learn, but are meant so: silence."""

from __future__ import annotations

import pytest
import torch

from tests.programs.stalled.healthy import HEALTHY
from tests.runtime.watching import watching_for

RULES = ("graph_cut", "non_leaf_grad")


@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_is_said(name: str) -> None:
    torch.manual_seed(0)
    with watching_for("stalled", advice=True) as host:
        HEALTHY[name]()
    assert [hit.text for hit in host.hits] == []
    assert [advice.text for advice in host.advice if advice.rule in RULES] == []
    assert not host.notices


@pytest.mark.parametrize("name", HEALTHY)
def test_advice_alone_says_nothing(name: str) -> None:
    torch.manual_seed(0)
    with watching_for("exploding:norm > 1e30", advice=True) as host:
        HEALTHY[name]()
    assert [advice.text for advice in host.advice if advice.rule in RULES] == []
    assert not host.hits
