"""What each loop says of itself, for a test to compare with what was found out about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass(frozen=True)
class Taken:
    """One step of training, as the loop itself knows it."""

    epoch: int
    """Passes over the training data begun before this one."""
    losses: tuple[float, ...]
    """All that ``backward`` was called on for this step, in order."""


@dataclass(frozen=True)
class Loop:
    """One style of training loop."""

    run: Callable[[], list[Taken]]
    steps: int
    """Steps of training; with several optimisers in turn, their round is one step."""
    epochs: int
    optimisers: tuple[str, ...]
    """Classes of ``torch.optim`` that step, in the order of their first step."""
    has_epochs: bool = True
    """False where the loop just counts steps: there is nothing to tell an epoch from."""


LOOPS: dict[str, Loop] = {}
Run = Callable[[], "list[Taken]"]


def loop(
    steps: int, epochs: int, *optimisers: str, has_epochs: bool = True
) -> Callable[[Run], Run]:
    """Register a loop with what is true of it."""

    def register(run: Run) -> Run:
        LOOPS[run.__name__] = Loop(run, steps, epochs, optimisers, has_epochs)
        return run

    return register


def data(rows: int, batch: int, shuffle: bool = True) -> DataLoader[tuple[Tensor, ...]]:
    """Return a loader of ``x[batch, 6]`` with labels out of three."""
    torch.manual_seed(0)
    x = torch.randn(rows, 6)
    return DataLoader(TensorDataset(x, x[:, :3].argmax(1)), batch_size=batch, shuffle=shuffle)


def small() -> nn.Sequential:
    """Return a net from six features to three classes."""
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 3))
