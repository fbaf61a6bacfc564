"""The table of healthy trainings, and the data that they learn from."""

from __future__ import annotations

import functools
import random
from typing import Callable, Iterator

import torch
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

Training = Callable[[int], "list[float]"]
ZOO: dict[str, Training] = {}


def training(function: Training) -> Training:
    """Register a training, which starts from the same seeds at every call."""

    @functools.wraps(function)
    def seeded(steps: int) -> list[float]:
        torch.manual_seed(0)
        random.seed(0)
        return function(steps)

    ZOO[function.__name__] = seeded
    return seeded


def clusters(rows: int, features: int, classes: int, noise: float = 0.7) -> tuple[Tensor, Tensor]:
    """Return ``x[rows, features]`` around one random centre a class, and labels ``y[rows]``."""
    centers = torch.randn(classes, features)
    y = torch.arange(rows) % classes
    return centers[y] + noise * torch.randn(rows, features), y


def images(rows: int, channels: int, size: int, classes: int) -> tuple[Tensor, Tensor]:
    """Return noisy ``x[rows, channels, size, size]`` of one template a class, and labels."""
    x, y = clusters(rows, channels * size * size, classes)
    return x.view(rows, channels, size, size), y


def sentences(rows: int, length: int, words: int) -> Tensor:
    """Return ``[rows, length]`` tokens in which most words follow from the one before."""
    tokens = torch.randint(words, (rows, length))
    for t in range(1, length):
        follows = torch.rand(rows) < 0.8
        tokens[:, t] = torch.where(follows, (tokens[:, t - 1] * 3 + 1) % words, tokens[:, t])
    return tokens


def batches(steps: int, size: int, *data: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Yield ``steps`` shuffled batches, epoch after epoch; the last of an epoch may be smaller."""
    loader = DataLoader(TensorDataset(*data), size, shuffle=True)
    done = 0
    while True:
        for batch in loader:
            if done == steps:
                return
            done += 1
            yield tuple(batch)
