"""Units that are off, pinned to a limit, or out of the range of their type."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.programs.faults.record import batches, clusters, confirm, fault, regression
from tests.programs.zoo.registry import images


@fault("zentracer.dead", "zentracer.stalled", "zentracer.vanishing", "loss_not_decreasing",
       "all_zero", "poor_initialisation")  # fmt: skip
def bias_far_below_zero(fault: bool) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(1, 8, 3)
            self.head = nn.Linear(8 * 36, 3)
            nn.init.constant_(self.conv.bias, -10.0 if fault else 0.01)  # <- origin

        def forward(self, x: Tensor) -> Tensor:
            h = F.relu(self.conv(x))  # <- culprit
            self.zeros = (h == 0).all(0).float().mean().item()
            return self.head(h.flatten(1))

    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for x, y in batches(20, 16, *images(96, 1, 8, 3)):
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    confirm(fault, net.zeros == 1.0, net.zeros)


@fault("zentracer.dead", "zentracer.exploding", "zentracer.loss_spike", "zentracer.stalled",
       "zentracer.vanishing", "loss_not_decreasing", "all_zero")  # fmt: skip
def one_step_too_far(fault: bool) -> None:
    """The first updates, of a sum instead of a mean, push all units below zero for good."""
    net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.015)
    active = 1.0
    for _ in range(40):
        x = torch.rand(64, 8) * 1.6 - 0.6
        h = net[:2](x)  # <- culprit
        active = (h > 0).float().mean().item()
        reduction = "sum" if fault else "mean"  # <- origin
        loss = F.mse_loss(net[2](h).squeeze(1), 3 + x[:, 0], reduction=reduction)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    confirm(fault, active == 0.0, active)


@fault("zentracer.dead", "poor_initialisation", "zentracer.stalled")
def most_channels_off(fault: bool) -> None:
    """A checkpoint of a pruned net: all channels but one are off for every picture."""
    net = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        nn.Linear(64, 3),
    )  # fmt: skip
    if fault:
        with torch.no_grad():
            net[0].bias[:15] = -50.0  # <- origin
    off: list[Tensor] = []
    net[1].register_forward_hook(lambda m, a, out: off.append((out == 0).all(3).all(2).all(0)))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for x, y in batches(30, 16, *images(96, 1, 8, 3)):
        logits = net(x)  # <- culprit
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    confirm(fault, int(torch.stack(off).all(0).sum()) >= 15)


@fault("zentracer.saturated", "unnormalised_inputs", "zentracer.vanishing", "zentracer.stalled",
       "loss_not_decreasing")  # fmt: skip
def bytes_into_tanh(fault: bool) -> None:
    """Pixels from 0 to 255 saturate the first layer."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc1, self.fc2 = nn.Linear(64, 32), nn.Linear(32, 3)

        def forward(self, x: Tensor) -> Tensor:
            h = torch.tanh(self.fc1(x))  # <- culprit
            self.pinned = (h.abs() > 0.99).float().mean().item()
            return self.fc2(h)

    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    pictures, labels = images(96, 1, 8, 3)
    pixels = (pictures.flatten(1) * 40 + 128).clamp(0, 255).byte()
    for x, y in batches(25, 16, pixels, labels):
        x = x.float() if fault else (x.float() - 128) / 40  # <- origin
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    confirm(fault, net.pinned > 0.8, net.pinned)


@fault("zentracer.saturated", "poor_initialisation", "zentracer.vanishing", "zentracer.stalled")
def gate_that_is_shut(fault: bool) -> None:
    """A highway layer whose gate starts with a bias of minus thirty."""

    class Highway(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.change, self.gate = nn.Linear(12, 12), nn.Linear(12, 12)
            nn.init.constant_(self.gate.bias, -30.0 if fault else -1.0)  # <- origin

        def forward(self, x: Tensor) -> Tensor:
            t = self.gate(x).sigmoid()  # <- culprit
            self.opened = t.max().item()
            return t * torch.tanh(self.change(x)) + (1 - t) * x

    layer = Highway()
    net = nn.Sequential(layer, nn.Linear(12, 3))
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    for x, y in batches(30, 32, *clusters(256, 12, 3)):
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    confirm(fault, layer.opened < 1e-6, layer.opened)


@fault(
    "zentracer.saturated",
    "zentracer.vanishing",
    "zentracer.stalled",
    "unnormalised_inputs",
    "poor_initialisation",
)
def attention_without_scale(fault: bool) -> None:
    """Scores of wide vectors are not divided by the root of their width."""
    query, key, head = nn.Linear(128, 128), nn.Linear(128, 128), nn.Linear(128, 2)
    for layer in (query, key):
        nn.init.orthogonal_(layer.weight, 12.0 if fault else 0.5)
    net = nn.ModuleList([query, key, head])
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    surest = 0.0
    for _ in range(25):
        x = torch.randn(16, 6, 128)
        y = (x[:, :, 0].mean(1) > 0).long()
        scores = query(x) @ key(x).transpose(1, 2)
        scores = scores if fault else scores / math.sqrt(128)  # <- origin
        weights = scores.softmax(-1)  # <- culprit
        surest = weights.max(-1).values.mean().item()
        loss = F.cross_entropy(head((weights @ x).mean(1)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    confirm(fault, surest > 0.97, surest)


@fault("zentracer.precision", "zentracer.nonfinite", "unnormalised_inputs")
def float16_activations_at_their_limit(fault: bool) -> None:
    """Squares of activations in half precision come near its limit of 65504."""
    net = nn.Linear(16, 16)
    head = nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=1e-6)
    largest = 0.0
    for _ in range(15):
        x, y = regression(32, 16)
        x = x * 300 if fault else x  # <- origin
        h = net(x).half()
        energy = (h * h).clamp(max=65504)  # <- culprit
        largest = max(largest, energy.detach().float().max().item())
        loss = F.mse_loss(head(energy.float() / 1e4).squeeze(1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    confirm(fault, largest == 65504, largest)


@fault("zentracer.precision", "zentracer.stalled", "zentracer.vanishing", "loss_not_decreasing",
       "all_zero")  # fmt: skip
def float16_gradients_underflow(fault: bool) -> None:
    """A mean over many outputs, back-propagated in half precision without a gradient scaler."""
    net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64)).half()
    target = torch.randn(64).half()
    optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
    zeros = 0.0
    for _ in range(15):
        x = torch.randn(64, 16).half()
        loss = (net(x) - target).float().square().mean() * (1e-5 if fault else 1.0)  # <- origin
        optimizer.zero_grad()
        loss.backward()  # <- culprit
        zeros = (net[0].weight.grad == 0).float().mean().item()
        optimizer.step()
    confirm(fault, zeros > 0.5, zeros)
