"""Faults: graphs that are cut, gradients that are reset, modules that are never called."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.programs.stalled.parts import Net, batch, descend, train


class Detached(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(6, 12), nn.Linear(12, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.tanh(self.body(x))
        h = h.detach()  # <- culprit of detached_in_forward
        return self.head(h)


def detached_in_forward() -> None:
    net = Detached()
    train(net, torch.optim.SGD(net.parameters(), lr=0.1))


class UsesData(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(6, 12), nn.Linear(12, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x).data.tanh())  # <- culprit of data_in_forward


def data_in_forward() -> None:
    net = UsesData()
    train(net, torch.optim.SGD(net.parameters(), lr=0.1))


class Decorated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(6, 12), nn.Linear(12, 3)

    @torch.no_grad()  # <- culprit of decorated_with_no_grad
    def features(self, x: Tensor) -> Tensor:
        return torch.tanh(self.body(x))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x))


def decorated_with_no_grad() -> None:
    net = Decorated()
    train(net, torch.optim.SGD(net.parameters(), lr=0.1))


def block_of_no_grad() -> None:
    encoder, head = nn.Linear(6, 12), nn.Linear(12, 3)
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
    for _ in range(8):
        x, y = batch()
        with torch.no_grad():  # <- culprit
            h = torch.tanh(encoder(x))
        descend(F.cross_entropy(head(h), y), optimizer)


def through_numpy() -> None:
    encoder, head = nn.Linear(6, 12), nn.Linear(12, 3)
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
    for _ in range(8):
        x, y = batch()
        h = encoder(x)
        scaled = np.tanh(h.detach().numpy())  # <- culprit
        descend(F.cross_entropy(head(torch.from_numpy(scaled)), y), optimizer)


def list_of_numbers() -> None:
    scorer, head = nn.Linear(6, 1), nn.Linear(6, 3)
    optimizer = torch.optim.SGD([*scorer.parameters(), *head.parameters()], lr=0.1)
    for _ in range(8):
        x, y = batch()
        scores = [scorer(row).item() for row in x]  # <- culprit
        weights = torch.tensor(scores)
        loss = (F.cross_entropy(head(x), y, reduction="none") * weights.sigmoid()).mean()
        descend(loss, optimizer)


class Routed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(6, 2)
        self.experts = nn.ModuleList(nn.Linear(6, 3) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        choice = self.router(x).argmax(-1)  # <- culprit of hard_routing
        both = torch.stack([expert(x) for expert in self.experts], 1)
        return both[torch.arange(len(x)), choice]


def hard_routing() -> None:
    net = Routed()
    train(net, torch.optim.SGD(net.parameters(), lr=0.1))


def term_from_a_helper() -> None:
    net, aux = Net(), nn.Linear(6, 3)
    optimizer = torch.optim.SGD([*net.parameters(), *aux.parameters()], lr=0.1)
    for _ in range(8):
        x, y = batch()
        loss = F.cross_entropy(net(x), y) + agreement(aux(x), y)
        descend(loss, optimizer)


def agreement(scores: Tensor, y: Tensor) -> Tensor:
    picked = scores.argmax(1)  # <- culprit of term_from_a_helper
    return (picked != y).float().mean()


def cast_to_integers() -> None:
    counter, head = nn.Linear(6, 1), nn.Linear(6, 3)
    optimizer = torch.optim.SGD([*counter.parameters(), *head.parameters()], lr=0.1)
    for _ in range(8):
        x, y = batch()
        count = counter(x).squeeze(1).to(torch.int64)  # <- culprit
        loss = F.cross_entropy(head(x), y) + (count - y).float().square().mean()
        descend(loss, optimizer)


class Gated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Parameter(torch.full((6,), 0.7))
        self.out = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        opened = self.gate > 0.5  # <- culprit of gate_by_comparison
        return self.out(x * opened)


def gate_by_comparison() -> None:
    net = Gated()
    train(net, torch.optim.SGD(net.parameters(), lr=0.1))


class Rounded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(6, 12), nn.Linear(12, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.round(self.body(x) * 4) / 4  # <- culprit of quantised_without_straight_through
        return self.head(h)


def quantised_without_straight_through() -> None:
    net = Rounded()
    train(net, torch.optim.SGD(net.parameters(), lr=0.1), steps=12)


def reset_before_the_step() -> None:
    net = Net()
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(8):
        x, y = batch()
        F.cross_entropy(net(x), y).backward()
        optimizer.zero_grad()  # <- culprit
        optimizer.step()


class Unused(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Linear(6, 6)
        self.two = nn.Sequential(nn.Linear(6, 6), nn.Tanh())  # <- culprit of never_called
        self.head = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.one(torch.tanh(self.one(x))))


def never_called() -> None:
    net = Unused()
    train(net, torch.optim.SGD(net.parameters(), lr=0.1), steps=24)
