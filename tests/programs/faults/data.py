"""Data, initial weights and runs that make learning impossible or pointless."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.programs.faults.record import batches, clusters, confirm, fault, regression
from tests.programs.zoo.registry import images


def net_of(width_in: int, width_out: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width_in, 24), nn.Tanh(), nn.Linear(24, width_out))


@fault("poor_initialisation", "loss_not_decreasing")
def all_weights_the_same(fault: bool) -> None:
    """Units that start equal stay equal: the layer is as good as one unit."""
    net = net_of(10, 3)
    if fault:
        nn.init.constant_(net[0].weight, 0.1)  # <- culprit
        nn.init.constant_(net[0].bias, 0.0)
        nn.init.constant_(net[2].weight, 0.1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in batches(30, 32, *clusters(256, 10, 3)):
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    spread = net[0].weight.detach().std(0).max().item()
    confirm(fault, spread < 1e-5, spread)


@fault("poor_initialisation", "zentracer.stalled", "zentracer.vanishing", "all_zero",
       "loss_not_decreasing", "unchanged_tensor")  # fmt: skip
def all_weights_zero(fault: bool) -> None:
    """With zeros in both layers only the last bias ever gets a gradient."""
    net = net_of(10, 3)
    if fault:
        for layer in (net[0], net[2]):
            nn.init.zeros_(layer.weight)  # <- culprit
            nn.init.zeros_(layer.bias)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for x, y in batches(30, 32, *clusters(256, 10, 3)):
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    confirm(fault, not net[0].weight.detach().any())


@fault("unchanged_tensor", "overfit")
def always_the_first_batch(fault: bool) -> None:
    """The iterator is made anew in each step, so the data never move on."""
    loader = DataLoader(TensorDataset(*clusters(256, 10, 3)), batch_size=32)
    net = net_of(10, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    iterator = iter(loader)
    seen: set[float] = set()
    for step in range(60):
        if not fault and step % len(loader) == 0:
            iterator = iter(loader)
        if fault:
            x, y = next(iter(loader))  # <- culprit
        else:
            x, y = next(iterator)
        seen.add(x.sum().item())
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    confirm(fault, len(seen) == 1)


@fault("all_zero", "zentracer.stalled", "loss_not_decreasing", "unchanged_tensor",
       "zentracer.dead")  # fmt: skip
def whole_division_of_bytes(fault: bool) -> None:
    """``//`` instead of ``/``: every pixel below 255 becomes zero."""
    pictures, labels = images(96, 1, 8, 3)
    pixels = (pictures.flatten(1) * 40 + 128).clamp(0, 254).byte()
    net = net_of(64, 3)
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    brightest = 0.0
    for raw, y in batches(30, 16, pixels, labels):
        if fault:
            x = (raw // 255).float()  # <- culprit
        else:
            x = (raw / 255 - 0.5) * 4
        brightest = max(brightest, x.abs().max().item())
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    confirm(fault, brightest == 0)


@fault("loss_not_decreasing")
def targets_shuffled_alone(fault: bool) -> None:
    """Inputs and targets are shuffled, but not together."""
    x, y = clusters(512, 10, 4)
    order = torch.randperm(512)
    y = y[torch.randperm(512)] if fault else y[order]  # <- origin
    x = x[order]
    net = net_of(10, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02)
    losses: list[float] = []
    for inputs, labels in batches(300, 64, x, y):
        loss = F.cross_entropy(net(inputs), labels)  # <- culprit
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    confirm(fault, sum(losses[-20:]) > 0.9 * sum(losses[:20]), losses[-1])


@fault("loss_not_decreasing", "zentracer.stalled")
def rate_far_too_small(fault: bool) -> None:
    net = net_of(8, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-5 if fault else 0.05)  # <- origin
    losses: list[float] = []
    for _ in range(300):
        x, y = regression(64, 8)
        loss = F.mse_loss(net(x).squeeze(1), y)  # <- culprit
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    confirm(fault, sum(losses[-20:]) > 0.9 * sum(losses[:20]), losses[-1])


@fault("overfit")
def learnt_by_heart(fault: bool) -> None:
    """Forty noisy samples: the validation loss rises while the training loss falls."""
    rows = 40 if fault else 2000
    x, y = clusters(rows + 200, 10, 3, noise=3.0)
    order = torch.randperm(len(x))
    x, y = x[order], y[order]
    net = nn.Sequential(nn.Linear(10, 128), nn.ReLU(), nn.Linear(128, 3))
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    loader = DataLoader(TensorDataset(x[:rows], y[:rows]), batch_size=20, shuffle=True)
    valid: list[float] = []
    steps = 0
    while steps < 400:
        net.train()
        for inputs, labels in loader:
            loss = F.cross_entropy(net(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            steps += 1
        net.eval()
        with torch.no_grad():
            valid.append(F.cross_entropy(net(x[rows:]), y[rows:]).item())  # <- culprit
    confirm(fault, valid[-1] > 1.5 * min(valid), valid[-1], min(valid))


@fault("class_imbalance", "zentracer.loss_spike")
def one_in_a_hundred(fault: bool) -> None:
    """Always guessing the common class is right 99 times out of 100."""
    net = net_of(10, 2)
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    shares: list[float] = []
    for _ in range(60):
        y = (torch.rand(128) < (0.01 if fault else 0.4)).long()
        x = torch.randn(128, 10) + y[:, None] * 0.5
        shares.append(y.float().mean().item())
        loss = F.cross_entropy(net(x), y)  # <- culprit
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    confirm(fault, sum(shares) / len(shares) < 0.02)


@fault("unnormalised_inputs", "zentracer.saturated", "zentracer.exploding", "zentracer.dead",
       "zentracer.loss_spike")  # fmt: skip
def pixels_as_they_are(fault: bool) -> None:
    pictures, labels = images(96, 1, 8, 3)
    pixels = (pictures * 40 + 128).clamp(0, 255)
    net = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 36, 3))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    largest = 0.0
    for x, y in batches(30, 16, pixels, labels):
        if not fault:
            x = (x - 128) / 40
        largest = max(largest, x.max().item())
        loss = F.cross_entropy(net(x), y)  # <- culprit
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    confirm(fault, largest > 100)


@fault("unnormalised_inputs", "zentracer.exploding", "zentracer.loss_spike", "zentracer.dead",
       "zentracer.saturated", "loss_not_decreasing")  # fmt: skip
def columns_of_different_scale(fault: bool) -> None:
    """Age, income and a share in one table, in their own units."""
    net = net_of(3, 1)
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    table = torch.stack([torch.rand(400) * 80, torch.rand(400) * 9e4, torch.rand(400)], 1)
    wanted = (table[:, 0] / 80 - table[:, 2]).tanh()
    if not fault:
        table = (table - table.mean(0)) / table.std(0)
    for x, y in batches(40, 50, table, wanted):
        loss = F.mse_loss(net(x).squeeze(1), y)  # <- culprit
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    confirm(fault, table.abs().max().item() > 1e4)
