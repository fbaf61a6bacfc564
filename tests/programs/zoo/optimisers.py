"""Ways to step: precision, accumulation, averaging, several passes, schedules."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.programs.zoo.registry import batches, clusters, training


def mlp(width_in: int, width: int, width_out: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(width_in, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
        nn.Linear(width, width_out),
    )  # fmt: skip


@training
def bfloat16(steps: int) -> list[float]:
    net = nn.Sequential(nn.Linear(16, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 4))
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)
    losses: list[float] = []
    for x, y in batches(steps, 32, *clusters(256, 16, 4, noise=1.0)):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@training
def float16_scaled(steps: int) -> list[float]:
    """A gradient scaler that starts too high: it skips steps until the scale fits, as it should."""
    net = mlp(16, 32, 4)
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**20, growth_interval=100)
    losses: list[float] = []
    for x, y in batches(steps, 32, *clusters(256, 16, 4, noise=1.0)):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = F.cross_entropy(net(x).float(), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


@training
def accumulated(steps: int) -> list[float]:
    """Four micro-batches a step; the gradients of a step are their mean."""
    net = mlp(12, 24, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    losses: list[float] = []
    micro: list[float] = []
    for x, y in batches(4 * steps, 8, *clusters(256, 12, 4, noise=1.0)):
        loss = F.cross_entropy(net(x), y) / 4
        loss.backward()
        micro.append(loss.item())
        if len(micro) == 4:
            optimizer.step()
            optimizer.zero_grad()
            losses.append(sum(micro))
            micro.clear()
    return losses


@training
def sharpness_aware(steps: int) -> list[float]:
    """SAM: two backward passes a step, at the weights and at their worst neighbour."""
    net = mlp(12, 24, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    parameters = list(net.parameters())
    losses: list[float] = []
    for x, y in batches(steps, 32, *clusters(256, 12, 4, noise=1.0)):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        with torch.no_grad():
            norm = torch.stack([p.grad.norm() for p in parameters]).norm()
            moves = [p.grad * (0.05 / (norm + 1e-12)) for p in parameters]
            torch._foreach_add_(parameters, moves)
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        with torch.no_grad():
            torch._foreach_sub_(parameters, moves)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


@training
def lbfgs(steps: int) -> list[float]:
    """A closure is evaluated several times a step; one batch, double precision."""
    x = torch.linspace(-2, 2, 40, dtype=torch.float64)[:, None]
    y = torch.sin(2 * x) + 0.1 * x**2
    net = nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 1)).double()
    optimizer = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=3, history_size=5)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        return loss

    return [optimizer.step(closure).item() for _ in range(steps)]


@training
def moving_average(steps: int) -> list[float]:
    """EMA of the weights by deepcopy, evaluated every 50 steps."""
    net = mlp(12, 24, 4)
    mean = copy.deepcopy(net)
    for p in mean.parameters():
        p.detach_()
    optimizer = torch.optim.RAdam(net.parameters(), lr=5e-3)
    x, y = clusters(256, 12, 4, noise=1.0)
    losses: list[float] = []
    for step, (xb, yb) in enumerate(batches(steps, 32, x[:192], y[:192])):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(xb), yb)
        loss.backward()
        optimizer.step()
        for slow, fast in zip(mean.parameters(), net.parameters()):
            slow.mul_(0.95).add_(fast.detach(), alpha=0.05)
        if step % 50 == 49:
            mean.eval()
            with torch.no_grad():
                accuracy = (mean(x[192:]).argmax(1) == y[192:]).float().mean().item()
        losses.append(loss.item())
    return losses


@training
def stochastic_weight_averaging(steps: int) -> list[float]:
    """SWA with its schedule; batch-norm statistics of the average are made anew at the end."""
    net = nn.Sequential(nn.Linear(12, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 4))
    average = torch.optim.swa_utils.AveragedModel(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(steps // 2, 1))
    swa = torch.optim.swa_utils.SWALR(optimizer, swa_lr=0.02, anneal_epochs=5)
    x, y = clusters(256, 12, 4, noise=1.0)
    losses: list[float] = []
    for step, (xb, yb) in enumerate(batches(steps, 32, x, y)):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(xb), yb)
        loss.backward()
        optimizer.step()
        if step < steps // 2:
            cosine.step()
        else:
            swa.step()
            average.update_parameters(net)
        losses.append(loss.item())
    torch.optim.swa_utils.update_bn([x[:128], x[128:]], average)
    average.eval()
    with torch.no_grad():
        F.cross_entropy(average(x), y)
    return losses


@training
def several_optimisers(steps: int) -> list[float]:
    """Tables by SparseAdam, the rest by SGD; each has a schedule, one steps every 10 steps."""
    table = nn.Embedding(60, 8, sparse=True)
    net = mlp(16, 24, 1)
    tables = torch.optim.SparseAdam(table.parameters(), lr=0.02)
    others = torch.optim.SGD(net.parameters(), lr=0.05)
    slow = torch.optim.lr_scheduler.ExponentialLR(tables, 0.97)
    fast = torch.optim.lr_scheduler.CyclicLR(others, 0.02, 0.08, step_size_up=20)
    values = torch.randn(60)
    losses: list[float] = []
    for step in range(steps):
        ids = torch.randint(60, (32, 2))
        wanted = (values[ids].sum(1) / 2).tanh()
        loss = F.mse_loss(net(table(ids).flatten(1)).squeeze(1), wanted)
        tables.zero_grad()
        others.zero_grad()
        loss.backward()
        tables.step()
        others.step()
        fast.step()
        if step % 10 == 9:
            slow.step()
        losses.append(loss.item())
    return losses


@training
def large_sums(steps: int) -> list[float]:
    """A loss summed over targets in the thousands: gradients of a million are fine with Adam."""
    net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    losses: list[float] = []
    for _ in range(steps):
        x = torch.rand(64, 6) * 2 - 1
        price = 5000 + 3000 * x[:, :1] - 1000 * x[:, 1:2]
        loss = F.mse_loss(net(x) * 1000, price, reduction="sum")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@training
def confident_outputs(steps: int) -> list[float]:
    """Two classes far apart: the sigmoid outputs become confident, rightly, and gradients small."""
    net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1), nn.Sigmoid())
    criterion = nn.BCELoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    losses: list[float] = []
    for _ in range(steps):
        y = torch.randint(2, (32, 1)).float()
        x = (2 * y - 1) * torch.tensor([1.0, -0.5, 1.5, 0.5]) * 2 + 0.5 * torch.randn(32, 4)
        loss = criterion(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@training
def noise_then_plateau(steps: int) -> list[float]:
    """Tiny batches: the loss jumps from step to step, falls early and stays at a noise floor."""
    net = nn.Sequential(nn.Linear(5, 16), nn.ELU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    losses: list[float] = []
    for _ in range(steps):
        x = torch.randn(2, 5)
        y = x[:, :1] + 0.5 * torch.randn(2, 1)
        loss = F.huber_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@training
def warm_restarts(steps: int) -> list[float]:
    """The learning rate is set back three times; the loss rises a little each time."""
    net = mlp(12, 24, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.3, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, max(steps // 4, 1))
    losses: list[float] = []
    for x, y in batches(steps, 64, *clusters(320, 12, 4, noise=1.5)):
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses


@training
def robust_regression(steps: int) -> list[float]:
    """One target in fifty is an outlier: a large loss now and then is the data's, and clipped."""
    net = nn.Sequential(nn.Linear(5, 24), nn.SiLU(), nn.Linear(24, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    losses: list[float] = []
    for _ in range(steps):
        x = torch.randn(32, 5)
        y = x[:, 0] * x[:, 1] + x[:, 2]
        y = torch.where(torch.rand(32) < 0.02, y + 4 * torch.randn(32), y)
        loss = F.smooth_l1_loss(net(x).squeeze(-1), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5, foreach=True)
        optimizer.step()
        losses.append(loss.item())
    return losses


@training
def hand_written_sgd(steps: int) -> list[float]:
    """No optimiser at all: the user subtracts the gradient."""
    weight = torch.zeros(8, 3, requires_grad=True)
    bias = torch.zeros(3, requires_grad=True)
    losses: list[float] = []
    for x, y in batches(steps, 32, *clusters(256, 8, 3, noise=1.5)):
        loss = F.cross_entropy(x @ weight + bias, y)
        loss.backward()
        with torch.no_grad():
            for p in (weight, bias):
                p -= 0.1 * p.grad
                p.grad.zero_()
        losses.append(loss.item())
    return losses
