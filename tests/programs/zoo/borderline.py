"""Healthy trainings that look odd from outside: tiny or zero losses, rare or late gradients."""

from __future__ import annotations

import copy
import random

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.programs.zoo.registry import batches, clusters, training


def mlp(width_in: int, width_out: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width_in, 32), nn.ReLU(), nn.Linear(32, width_out))


def descend(loss: Tensor, optimizer: torch.optim.Optimizer) -> float:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


@training
def solved_early(steps: int) -> list[float]:
    """After a hundred steps nothing is left to learn: gradients vanish everywhere, rightly."""
    net = mlp(8, 3)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    data = clusters(192, 8, 3, noise=0.3)
    return [descend(F.cross_entropy(net(x), y), optimizer) for x, y in batches(steps, 32, *data)]


@training
def margin_reached(steps: int) -> list[float]:
    """A hinge loss is exactly zero for most batches in the end, and so are all gradients."""
    net = mlp(6, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    losses: list[float] = []
    for x, y in batches(steps, 16, *clusters(256, 6, 2, noise=0.3)):
        score = net(x).squeeze(1) * (2 * y - 1)
        losses.append(descend(F.relu(1 - score).mean(), optimizer))
    return losses


@training
def small_numbers(steps: int) -> list[float]:
    """Targets of a ten-thousandth: the loss is 1e-8 and gradients are 1e-6 from the start."""
    net = mlp(5, 1)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, eps=1e-12)
    losses: list[float] = []
    for _ in range(steps):
        x = torch.randn(32, 5)
        wanted = 1e-4 * (x[:, 0] - x[:, 1])
        losses.append(descend(F.mse_loss(1e-3 * net(x).squeeze(1), wanted), optimizer))
    return losses


@training
def slow_fine_tuning(steps: int) -> list[float]:
    """A rate of 2e-5, as large models are fine-tuned with; a backbone loaded without its head."""
    source, net = mlp(12, 6), mlp(12, 3)
    kept = {k: v for k, v in source.state_dict().items() if not k.startswith("2.")}
    net.load_state_dict(kept, strict=False)
    body, head = list(net[0].parameters()), list(net[2].parameters())
    optimizer = torch.optim.AdamW([{"params": body, "lr": 2e-5}, {"params": head, "lr": 2e-3}])
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, max(steps, 1))
    losses: list[float] = []
    for x, y in batches(steps, 32, *clusters(256, 12, 3, noise=1.0)):
        losses.append(descend(F.cross_entropy(net(x), y), optimizer))
        schedule.step()
    return losses


@training
def residual_from_zero(steps: int) -> list[float]:
    """Six residual blocks whose last layers start at zero: first steps reach only those."""

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.a, self.b = nn.LayerNorm(16), nn.Linear(16, 16), nn.Linear(16, 16)
            nn.init.zeros_(self.b.weight)
            nn.init.zeros_(self.b.bias)

        def forward(self, x: Tensor) -> Tensor:
            return x + self.b(F.silu(self.a(self.norm(x))))

    net = nn.Sequential(nn.Linear(8, 16), *(Block() for _ in range(6)), nn.Linear(16, 3))
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)
    data = clusters(256, 8, 3, noise=1.0)
    return [descend(F.cross_entropy(net(x), y), optimizer) for x, y in batches(steps, 32, *data)]


@training
def deep_and_plain(steps: int) -> list[float]:
    """Ten layers with the right initialisation and no normalisation."""
    layers: list[nn.Module] = []
    for _ in range(10):
        linear = nn.Linear(24, 24)
        nn.init.kaiming_normal_(linear.weight, nonlinearity="relu")
        nn.init.zeros_(linear.bias)
        layers += [linear, nn.ReLU()]
    net = nn.Sequential(*layers, nn.Linear(24, 3))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02)
    data = clusters(256, 24, 3, noise=1.0)
    return [descend(F.cross_entropy(net(x), y), optimizer) for x, y in batches(steps, 32, *data)]


@training
def one_sample_a_step(steps: int) -> list[float]:
    """Online learning: losses between zero and five in turn."""
    net = mlp(6, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02)
    data = clusters(400, 6, 3, noise=1.2)
    return [descend(F.cross_entropy(net(x), y), optimizer) for x, y in batches(steps, 1, *data)]


@training
def tasks_in_turn(steps: int) -> list[float]:
    """Two heads in alternate steps, with losses of different size: each idles every other step."""
    trunk, kinds, price = (
        nn.Sequential(nn.Linear(8, 24), nn.ReLU()),
        nn.Linear(24, 3),
        nn.Linear(24, 1),
    )
    optimizer = torch.optim.Adam(
        [*trunk.parameters(), *kinds.parameters(), *price.parameters()], lr=3e-3
    )
    losses: list[float] = []
    for step, (x, y) in enumerate(batches(steps, 32, *clusters(256, 8, 3, noise=1.0))):
        h = trunk(x)
        if step % 2:
            loss = 20 * F.mse_loss(price(h).squeeze(1), x[:, 0] * 2 + x[:, 1])
        else:
            loss = 0.2 * F.cross_entropy(kinds(h), y)
        losses.append(descend(loss, optimizer))
    return losses


@training
def term_from_step_100(steps: int) -> list[float]:
    """A second term enters after a third of the run; the loss rises with it and falls again."""
    encoder, decoder = nn.Linear(16, 6), nn.Linear(6, 16)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=5e-3)
    losses: list[float] = []
    for step, (x, _) in enumerate(batches(steps, 32, *clusters(256, 16, 4))):
        code = encoder(x)
        loss = F.mse_loss(decoder(code), x)
        if step >= steps // 3:
            loss = loss + 0.02 * code.abs().mean()
        losses.append(descend(loss, optimizer))
    return losses


@training
def stochastic_depth(steps: int) -> list[float]:
    """Layers are left out at random: their parameters have no gradient in those steps."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem, self.head = nn.Linear(10, 24), nn.Linear(24, 3)
            self.blocks = nn.ModuleList(nn.Linear(24, 24) for _ in range(4))

        def forward(self, x: Tensor) -> Tensor:
            x = torch.relu(self.stem(x))
            for block in self.blocks:
                if self.training and random.random() < 0.3:
                    continue
                x = x + 0.5 * torch.relu(block(x))
            return self.head(x)

    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    data = clusters(256, 10, 3, noise=1.0)
    return [descend(F.cross_entropy(net(x), y), optimizer) for x, y in batches(steps, 32, *data)]


@training
def norm_for_the_log(steps: int) -> list[float]:
    """The norm of the gradients is logged by clipping to infinity after the step."""
    net = mlp(8, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    norms: list[float] = []
    losses: list[float] = []
    for x, y in batches(steps, 32, *clusters(256, 8, 3, noise=1.0)):
        losses.append(descend(F.cross_entropy(net(x), y), optimizer))
        norms.append(nn.utils.clip_grad_norm_(net.parameters(), float("inf")).item())
    return losses


@training
def monte_carlo_dropout(steps: int) -> list[float]:
    """Dropout stays on in evaluation to measure the uncertainty; everything else is in eval."""
    net = nn.Sequential(
        nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 3)
    )
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    x, y = clusters(256, 8, 3, noise=1.0)

    @torch.no_grad()
    def uncertainty(rows: Tensor, samples: int = 5) -> Tensor:
        net.eval()
        for module in net.modules():
            if isinstance(module, nn.Dropout):
                module.train()
        spread = torch.stack([net(rows).softmax(1) for _ in range(samples)]).std(0)
        net.train()
        return spread

    losses: list[float] = []
    for step, (inputs, labels) in enumerate(batches(steps, 32, x[:192], y[:192])):
        losses.append(descend(F.cross_entropy(net(inputs), labels), optimizer))
        if step % 60 == 59:
            uncertainty(x[192:]).mean()
    return losses


@training
def statistics_made_anew(steps: int) -> list[float]:
    """Batch-norm layers stay in eval mode and frozen; their statistics are measured at the end."""
    net = nn.Sequential(nn.Linear(8, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 3))
    net[1].requires_grad_(False)
    optimizer = torch.optim.Adam((p for p in net.parameters() if p.requires_grad), lr=3e-3)
    x, y = clusters(256, 8, 3, noise=1.0)
    losses: list[float] = []
    for inputs, labels in batches(steps, 32, x, y):
        net.train()
        net[1].eval()
        losses.append(descend(F.cross_entropy(net(inputs), labels), optimizer))
    net.train()
    net[1].reset_running_stats()
    net[1].momentum = None
    with torch.no_grad():
        for rows in x.split(64):
            net(rows)
    return losses


@training
def hard_target_updates(steps: int) -> list[float]:
    """A target network is overwritten every 25 steps, and the loss bumps a little each time."""
    q = mlp(4, 2)
    target = copy.deepcopy(q).eval()
    optimizer = torch.optim.RMSprop(q.parameters(), lr=1e-3)
    losses: list[float] = []
    for step in range(steps):
        state, action = torch.randn(64, 4), torch.randint(2, (64, 1))
        after = 0.7 * state + 0.3 * (2 * action - 1)
        with torch.no_grad():
            wanted = -after.square().mean(1) + 0.7 * target(after).amax(1)
        losses.append(
            descend(F.smooth_l1_loss(q(state).gather(1, action).squeeze(1), wanted), optimizer)
        )
        if step % 25 == 24:
            target.load_state_dict(q.state_dict())
    return losses


@training
def pointer(steps: int) -> list[float]:
    """Attention learns to point at the largest entry: its softmax becomes one-hot, rightly."""
    key = nn.Linear(2, 8)
    query = nn.Parameter(torch.randn(8) * 0.3)
    optimizer = torch.optim.Adam([*key.parameters(), query], lr=0.03)
    losses: list[float] = []
    for _ in range(steps):
        x = torch.randn(32, 6, 2)
        best = x[..., 0].argmax(1)
        x[torch.arange(32), best, 0] += 1
        weights = torch.softmax(key(x) @ query, dim=-1)
        picked = (weights.unsqueeze(-1) * x).sum(1)
        losses.append(descend(F.mse_loss(picked, x[torch.arange(32), best]), optimizer))
    return losses


@training
def schedule_by_iteration(steps: int) -> list[float]:
    """StepLR counts iterations here, not epochs; a warm-up comes before it."""
    net = mlp(8, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    warm = torch.optim.lr_scheduler.LinearLR(optimizer, 0.01, 1.0, 20)
    fall = torch.optim.lr_scheduler.StepLR(optimizer, step_size=100, gamma=0.3)
    schedule = torch.optim.lr_scheduler.SequentialLR(optimizer, [warm, fall], [20])
    losses: list[float] = []
    for x, y in batches(steps, 32, *clusters(256, 8, 3, noise=1.2)):
        losses.append(descend(F.cross_entropy(net(x), y), optimizer))
        schedule.step()
    return losses
