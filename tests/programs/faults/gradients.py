"""Gradients that vanish or explode, and losses that jump."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.programs.faults.record import batches, clusters, confirm, fault, regression
from tests.programs.zoo.registry import images


def share(first: Tensor, last: Tensor) -> float:
    """Return how much of the last layer's gradient reaches the first."""
    return (first.grad.norm() / last.grad.norm()).item()


@fault("zentracer.vanishing", "poor_initialisation", "loss_not_decreasing", "zentracer.stalled")
def tiny_weights(fault: bool) -> None:
    class Deep(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(24, 24) for _ in range(10))
            self.head = nn.Linear(24, 3)
            for layer in self.layers:
                nn.init.normal_(layer.weight, std=0.02 if fault else 0.2)  # <- origin

        def forward(self, x: Tensor) -> Tensor:
            for layer in self.layers:
                x = torch.tanh(layer(x))  # <- culprit
            return self.head(x)

    net = Deep()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for x, y in batches(30, 32, *clusters(256, 24, 3)):
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
    ratio = share(net.layers[0].weight, net.head.weight)
    confirm(fault, ratio < 1e-6, ratio)


@fault("zentracer.vanishing", "poor_initialisation", "loss_not_decreasing", "zentracer.stalled")
def deep_cnn(fault: bool) -> None:
    """Fourteen convolutions: without normalisation and with too small weights none below learns."""

    def block() -> list[nn.Module]:
        conv = nn.Conv2d(8, 8, 3, padding=1)
        if fault:
            nn.init.normal_(conv.weight, std=0.01)  # <- origin
            return [conv, nn.ReLU()]
        return [conv, nn.BatchNorm2d(8), nn.ReLU()]

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Conv2d(1, 8, 3, padding=1)
            self.body = nn.Sequential(*(layer for _ in range(12) for layer in block()))
            self.head = nn.Linear(8, 3)

        def forward(self, x: Tensor) -> Tensor:
            h = self.body(self.stem(x))  # <- culprit
            return self.head(h.mean((2, 3)))

    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    for x, y in batches(25, 16, *images(96, 1, 8, 3)):
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ratio = share(net.stem.weight, net.head.weight)
    confirm(fault, ratio < 1e-6, ratio)


@fault("zentracer.vanishing", "zentracer.saturated", "loss_not_decreasing", "zentracer.stalled")
def sigmoids_in_a_loop(fault: bool) -> None:
    """Parameters without modules: the same layers by hand."""
    squash = torch.sigmoid if fault else F.gelu  # <- origin
    weights = [nn.Parameter(torch.randn(20, 20) / math.sqrt(20)) for _ in range(12)]
    shifts = [nn.Parameter(torch.zeros(20)) for _ in range(12)]
    head = nn.Parameter(torch.randn(20, 3) / math.sqrt(20))
    optimizer = torch.optim.SGD([*weights, *shifts, head], lr=0.1)
    for x, y in batches(25, 32, *clusters(256, 20, 3)):
        h = x
        for w, b in zip(weights, shifts):
            h = squash(h @ w + b)  # <- culprit
        loss = F.cross_entropy(h @ head, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ratio = share(weights[0], head)
    confirm(fault, ratio < 1e-6, ratio)


@fault("zentracer.exploding", "zentracer.loss_spike", "zentracer.saturated", "zentracer.nonfinite")
def cell_by_hand(fault: bool) -> None:
    """A recurrent weight of twice the identity over forty time steps."""

    class Cell(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.enter = nn.Linear(2, 16)
            self.again = nn.Parameter(torch.eye(16) * (2.0 if fault else 0.8))  # <- origin
            self.out = nn.Linear(16, 1)

        def forward(self, x: Tensor) -> Tensor:
            h = x.new_zeros(len(x), 16)
            for t in range(x.shape[1]):
                h = torch.relu(self.enter(x[:, t]) + h @ self.again)  # <- culprit
            return self.out(h).squeeze(-1)

    net = Cell()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    worst = 0.0
    for _ in range(8):
        x = torch.rand(16, 40, 2)
        loss = F.mse_loss(net(x), x[:, -3:].sum((1, 2)) / 6)
        optimizer.zero_grad()
        loss.backward()
        worst = max(worst, net.again.grad.norm().item())
        optimizer.step()
    confirm(fault, worst > 1e6, worst)


@fault("zentracer.exploding", "poor_initialisation", "zentracer.loss_spike", "zentracer.nonfinite")
def wide_initialisation(fault: bool) -> None:
    """Normal weights of deviation one in twelve layers, without normalisation."""
    layers: list[nn.Module] = []
    for _ in range(12):
        linear = nn.Linear(32, 32)
        if fault:
            nn.init.normal_(linear.weight)  # <- origin
        else:
            nn.init.kaiming_normal_(linear.weight)
        layers += [linear, nn.ReLU()]
    net = nn.Sequential(*layers, nn.Linear(32, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    x, y = regression(64, 32)
    worst = 0.0
    for _ in range(3 if fault else 15):
        out = net(x)  # <- culprit
        loss = F.l1_loss(out.squeeze(1), y)
        optimizer.zero_grad()
        loss.backward()
        worst = max(worst, net[0].weight.grad.norm().item())
        optimizer.step()
    confirm(fault, worst > 1e5, worst)


@fault("zentracer.exploding", "zentracer.loss_spike", "unnormalised_inputs", "zentracer.nonfinite")
def batch_out_of_scale(fault: bool) -> None:
    """After 50 quiet steps one batch comes in other units."""
    net = nn.Sequential(nn.Linear(6, 24), nn.ELU(), nn.Linear(24, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-2)
    norms: list[float] = []
    for step in range(60):
        x, y = regression(32, 6)
        if fault and step == 50:
            x = x * 1000  # <- origin
        out = net(x)  # <- culprit
        loss = F.mse_loss(out.squeeze(1), y)
        optimizer.zero_grad()
        loss.backward()
        norms.append(net[0].weight.grad.norm().item())
        optimizer.step()
    confirm(fault, max(norms) > 1000 * sorted(norms)[30], max(norms))


@fault("zentracer.exploding", "zentracer.loss_spike", "zentracer.dead", "zentracer.nonfinite")
def adam_rate_of_one(fault: bool) -> None:
    """Every update is larger than the weights."""
    net = nn.Sequential(
        nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 3)
    )
    optimizer = torch.optim.Adam(net.parameters(), lr=1.0 if fault else 3e-3)  # <- origin
    losses: list[float] = []
    for x, y in batches(25, 32, *clusters(256, 10, 3, noise=1.0)):
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # <- culprit
        losses.append(loss.item())
    confirm(fault, max(losses) > 20 * losses[0], max(losses))


@fault("zentracer.exploding", "zentracer.loss_spike", "zentracer.nonfinite")
def rate_that_grows(fault: bool) -> None:
    """The decay was given as its inverse: the rate grows by a half in each step."""
    net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    growth = 1.5 if fault else 0.98  # <- origin
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, growth)
    losses: list[float] = []
    for _ in range(22):
        x, y = regression(32, 8)
        loss = F.mse_loss(net(x).squeeze(1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # <- culprit
        schedule.step()
        losses.append(loss.item())
    confirm(fault, max(losses[-5:]) > 20 * losses[0], losses)


@fault("zentracer.loss_spike", "zentracer.exploding")
def mislabelled_batch(fault: bool) -> None:
    """Late in training the targets of one batch belong to another file."""
    net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3))
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    losses: list[float] = []
    for step, (x, y) in enumerate(batches(80, 32, *clusters(512, 6, 3, noise=0.5))):
        if fault and step == 70:
            y = (y + 1) % 3  # <- origin
        loss = F.cross_entropy(net(x), y)  # <- culprit
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    confirm(fault, max(losses[60:]) > 10 * max(losses[40:60]), max(losses[60:]))


@fault("zentracer.loss_spike", "zentracer.exploding", "zentracer.dead")
def rate_set_back(fault: bool) -> None:
    """The rate is set to that of another model after resuming."""
    net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    losses: list[float] = []
    for step in range(70):
        if step == 60:
            for group in optimizer.param_groups:
                group["lr"] = 3.0 if fault else 0.005  # <- origin
        x, y = regression(64, 6)
        loss = F.smooth_l1_loss(net(x).squeeze(1), y)  # <- culprit
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    confirm(fault, max(losses[60:]) > 10 * max(losses[40:60]), max(losses[60:]))
