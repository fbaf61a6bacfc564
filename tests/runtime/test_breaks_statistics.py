"""One statistic at a time is the same as all at once."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from zentracer.control.condition import STATISTICS
from zentracer.frameworks.pytorch.breaks.statistics import Statistics
from zentracer.observe.stats import exact_stats

TENSORS = {
    "plain": torch.linspace(-3, 5, 97),
    "strided": torch.linspace(-3, 5, 96).reshape(8, 12).t()[::2],
    "zeros": torch.tensor([0.0, 0.0, 2.0]),
    "one": torch.tensor(3.0),
    "nan": torch.tensor([1.0, math.nan, -4.0]),
    "inf": torch.tensor([1.0, math.inf, -math.inf, 0.0]),
    "all nan": torch.tensor([math.nan, math.nan]),
    "half": torch.full((5000,), 100.0, dtype=torch.float16),
    "bfloat16": torch.linspace(-2, 2, 50).bfloat16(),
    "overflow": torch.full((10,), 3e38),
    "whole": torch.tensor([[1, 8], [0, -3]]),
    "truth": torch.tensor([True, False]),
    "complex": torch.tensor([3 + 4j, 0j]),
}


@pytest.mark.parametrize("x", TENSORS.values(), ids=TENSORS)
def test_the_same(x: Tensor) -> None:
    exact = exact_stats(x)
    for name in STATISTICS:
        expected = getattr(exact, name)
        found = Statistics(x)[name]
        close = expected if expected is None else pytest.approx(expected, rel=1e-5, abs=1e-6)
        assert found == close, name


@pytest.mark.parametrize("x", [torch.empty(0), torch.empty(3, device="meta")])
def test_where_there_are_no_values(x: Tensor) -> None:
    assert Statistics(x)["min"] is None
