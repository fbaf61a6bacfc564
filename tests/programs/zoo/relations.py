"""Graphs, pairs and sparse tables."""

from __future__ import annotations

import random

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.programs.zoo.registry import clusters, training


class MessagePassing(nn.Module):
    def __init__(self, width_in: int, width: int) -> None:
        super().__init__()
        self.message = nn.Linear(2 * width_in, width)
        self.update = nn.Linear(width_in + width, width)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        source, target = edges
        messages = F.relu(self.message(torch.cat([x[source], x[target]], 1)))
        total = torch.zeros(len(x), messages.shape[1]).index_add_(0, target, messages)
        degree = torch.zeros(len(x), 1).scatter_add_(0, target[:, None], torch.ones(len(target), 1))
        return self.update(torch.cat([x, total / degree.clamp(min=1)], 1))


@training
def gnn(steps: int) -> list[float]:
    """The whole graph at each step; only some nodes are labelled, some have no neighbour."""
    x, y = clusters(60, 8, 3, noise=1.5)
    pairs = torch.randint(54, (2, 400))
    edges = pairs[:, (y[pairs[0]] == y[pairs[1]]) | (torch.rand(400) < 0.1)]
    labelled = torch.rand(60) < 0.7
    first, second = MessagePassing(8, 16), MessagePassing(16, 3)
    optimizer = torch.optim.Adam(
        [*first.parameters(), *second.parameters()], lr=5e-3, weight_decay=5e-4
    )
    losses: list[float] = []
    for _ in range(steps):
        optimizer.zero_grad()
        h = F.dropout(F.elu(first(x, edges)), 0.3)
        loss = F.cross_entropy(second(h, edges)[labelled], y[labelled])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@training
def graph_attention(steps: int) -> list[float]:
    """Batches of graphs of different sizes; softmax over a dense adjacency matrix."""
    project, left, right = nn.Linear(4, 12), nn.Linear(12, 1), nn.Linear(12, 1)
    head = nn.Linear(12, 1)
    net = nn.ModuleList([project, left, right, head])
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    losses: list[float] = []
    for _ in range(steps):
        n = random.randint(6, 12)
        x = torch.randn(8, n, 4)
        near = (torch.rand(8, n, n) < 0.4) | torch.eye(n, dtype=torch.bool)
        h = project(x)
        e = F.leaky_relu(left(h) + right(h).transpose(1, 2), 0.2)
        weights = e.masked_fill(~near, float("-inf")).softmax(-1)
        out = head(torch.tanh(weights @ h)).mean(1)
        target = x[..., 0].mean(1, keepdim=True) * 2
        loss = F.mse_loss(out, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@training
def recommender(steps: int) -> list[float]:
    """Sparse gradients: in each step most rows of the tables get none."""

    class Factors(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.user = nn.Embedding(500, 8, sparse=True)
            self.item = nn.Embedding(800, 8, sparse=True)
            self.bias = nn.Embedding(800, 1, sparse=True)
            for table in (self.user, self.item):
                nn.init.normal_(table.weight, std=0.3)
            nn.init.zeros_(self.bias.weight)

        def forward(self, u: Tensor, i: Tensor) -> Tensor:
            return (self.user(u) * self.item(i)).sum(-1) + self.bias(i).squeeze(-1)

    taste, kind = torch.randn(500, 3), torch.randn(800, 3)
    model = Factors()
    optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=0.02)
    losses: list[float] = []
    for _ in range(steps):
        u, i = torch.randint(500, (64,)), (torch.rand(64) ** 2 * 800).long()
        liked = ((taste[u] * kind[i]).sum(-1) > 0).float()
        loss = F.binary_cross_entropy_with_logits(model(u, i), liked)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@training
def click_rates(steps: int) -> list[float]:
    """Wide and deep, with dense embedding gradients; 5 % of the targets are positive."""
    tables = nn.ModuleList(nn.Embedding(200, 4) for _ in range(3))
    deep = nn.Sequential(nn.Linear(14, 32), nn.PReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adagrad([*tables.parameters(), *deep.parameters()], lr=0.02)
    criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(3.0))
    losses: list[float] = []
    for _ in range(steps):
        ids, numbers = torch.randint(200, (128, 3)), torch.randn(128, 2)
        score = numbers[:, 0] + (ids[:, 0] < 20) * 2 - 3
        clicked = (torch.rand(128) < score.sigmoid()).float()
        h = torch.cat([*(table(ids[:, k]) for k, table in enumerate(tables)), numbers], 1)
        loss = criterion(deep(h).squeeze(1), clicked)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@training
def contrastive(steps: int) -> list[float]:
    """All pairs of a batch: an (N, N) matrix of similarities, its diagonal is right."""
    encoder = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))
    log_scale = nn.Parameter(torch.tensor(2.0))
    optimizer = torch.optim.AdamW([*encoder.parameters(), log_scale], lr=2e-3)
    losses: list[float] = []
    for _ in range(steps):
        x = torch.randn(24, 16)
        a = F.normalize(encoder(x + 0.3 * torch.randn_like(x)), dim=1)
        b = F.normalize(encoder(x + 0.3 * torch.randn_like(x)), dim=1)
        logits = log_scale.exp() * a @ b.T
        labels = torch.arange(24)
        loss = (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@training
def metric_learning(steps: int) -> list[float]:
    """Distances of all samples to all centres, by broadcasting ``x[:, None] - c[None]``."""
    net = nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Linear(24, 6))
    centers = nn.Parameter(torch.randn(5, 6))
    optimizer = torch.optim.Adam([*net.parameters(), centers], lr=5e-3)
    data, labels = clusters(200, 12, 5, noise=1.0)
    losses: list[float] = []
    for _ in range(steps):
        rows = torch.randint(200, (20,))
        h, y = net(data[rows]), labels[rows]
        distance = (h[:, None] - centers[None]).square().sum(-1)
        pairwise = (h[:, None, :] - h[None, :, :]).pow(2).sum(-1)
        same = y[:, None] == y[None, :]
        pull = (pairwise * same).sum() / same.sum()
        push = (F.relu(4.0 - pairwise) * ~same).sum() / (~same).sum()
        loss = F.cross_entropy(-distance, y) + 0.1 * (pull + push)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@training
def triplets(steps: int) -> list[float]:
    """A margin loss that more and more triplets satisfy: late in training it is often zero."""
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    centers = torch.randn(6, 8)
    losses: list[float] = []
    for _ in range(steps):
        y = torch.randint(6, (32,))
        other = (y + torch.randint(1, 6, (32,))) % 6
        anchor, near, far = (centers[k] + 0.7 * torch.randn(32, 8) for k in (y, y, other))
        loss = F.triplet_margin_loss(net(anchor), net(near), net(far), margin=0.5)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
