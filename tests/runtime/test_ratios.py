"""Update norms against parameter norms."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from zentracer.frameworks.pytorch.training.events import Update, parameters_of
from zentracer.frameworks.pytorch.training.ratios import SAMPLED, Change, Ratios, sample_of


class AtOnce:
    """A device that answers at once."""

    def read(self, numbers: torch.Tensor, then: Any) -> None:
        then(numbers.tolist())


def test_the_ratio_is_that_of_the_update() -> None:
    net = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    before = net.weight.detach().clone()
    net(torch.ones(1, 4)).sum().backward()
    ratios, update = Ratios(AtOnce()), Update(optimizer, None, parameters=parameters_of(optimizer))  # type: ignore[arg-type]
    ratios.starts(update)
    ratios.starts(update)
    optimizer.step()
    first: list[Change] = []
    second: list[Change] = []
    ratios.ended(update, first.extend)
    ratios.ended(update, second.extend)

    expected = (net.weight.detach() - before).norm() / before.norm()
    assert ratios.ratio_of(net.weight) == pytest.approx(expected.item(), rel=1e-6)
    assert ratios.ratio_of(nn.Linear(1, 1).weight) is None
    assert [c.parameter() for c in first] == [net.weight, net.bias]
    assert first == second


def test_large_parameters_are_sampled_all_over() -> None:
    x = torch.arange(1 << 20).view(1024, 1024).float()
    part = sample_of(x)
    assert part is not None
    assert part.numel() <= SAMPLED
    assert part.max() > 0.99 * x.max()
    assert len({int(v) % 1024 for v in part}) > 500  # columns
    image = torch.randn(8, 16, 16, 16).to(memory_format=torch.channels_last)
    assert set(sample_of(image).tolist()) <= set(image.flatten().tolist())  # type: ignore[union-attr]


def test_a_parameter_without_size_has_no_ratio() -> None:
    zero = nn.Parameter(torch.zeros(3))
    optimizer = torch.optim.SGD([zero], lr=1.0)
    zero.grad = torch.ones(3)
    ratios, update = Ratios(AtOnce()), Update(optimizer, None, parameters=[zero])  # type: ignore[arg-type]
    ratios.starts(update)
    optimizer.step()
    found: list[Change] = []
    ratios.ended(update, found.extend)
    assert found[0].ratio is None
    assert found[0].update == pytest.approx(3**0.5)
