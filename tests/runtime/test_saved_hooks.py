"""What is saved for backward is not unpacked where that runs code of the program's."""

from __future__ import annotations

from typing import Any, Callable

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.runtime.watching import EVERYTHING, watching_for

FILTERS = (*EVERYTHING, "loss_spike:x > 0", "dead:match('*') and std > 0")


def run(*, loss_inside: bool) -> int:
    """Return how often the checkpointed function was run by five steps."""
    model = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.5), nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    x, y = torch.randn(32, 8), torch.arange(32) % 4
    calls = 0

    def probabilities(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return torch.softmax(model(x), 1)

    def loss_of(x: Any) -> Any:
        return F.nll_loss(probabilities(x).log(), y)

    inner: Callable[[Any], Any] = loss_of if loss_inside else probabilities
    for _ in range(5):
        optimizer.zero_grad()
        made: Any = checkpoint(inner, x, use_reentrant=False)
        (made if loss_inside else F.cross_entropy(made, y)).backward()
        optimizer.step()
    return calls


@pytest.mark.parametrize("loss_inside", [True, False])
def test_a_checkpoint_runs_as_often_as_without_us(loss_inside: bool) -> None:
    alone = run(loss_inside=loss_inside)
    with watching_for(*FILTERS, advice=True) as host:
        watched = run(loss_inside=loss_inside)
    assert host.hits, "a stop may look at what is saved, too"
    assert watched == alone
    assert not host.notices
