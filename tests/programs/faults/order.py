"""Calls in the wrong order or rhythm, and losses that want something else."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tests.programs.faults.record import batches, classifier, clusters, confirm, fault, regression


@fault("clip_after_step", "unnormalised_inputs")
def values_clipped_too_late(fault: bool) -> None:
    net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    largest = 0.0
    for _ in range(20):
        x, y = regression(32, 6)
        optimizer.zero_grad()
        F.mse_loss(net(x).squeeze(1), y * 10).backward()
        if not fault:
            nn.utils.clip_grad_value_(net.parameters(), 0.1)
        largest = max(largest, *(p.grad.abs().max().item() for p in net.parameters()))
        optimizer.step()
        if fault:
            nn.utils.clip_grad_value_(net.parameters(), 0.1)  # <- culprit
    confirm(fault, largest > 0.2, largest)


@fault("clip_before_unscale")
def clipped_while_scaled(fault: bool) -> None:
    """Gradients are 1024 times too large when they are clipped to one: steps become tiny."""
    net = classifier()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    moved = 0.0
    for x, y in batches(20, 32, *clusters(256, 10, 3)):
        before = net[3].weight.detach().clone()
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(net(x), y)
        scaler.scale(loss).backward()
        if not fault:
            scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # <- culprit
        scaler.step(optimizer)
        scaler.update()
        moved = max(moved, (net[3].weight - before).norm().item())
    confirm(fault, moved < 1e-3, moved)


@fault("missing_zero_grad", "zentracer.exploding", "zentracer.loss_spike", "loss_not_decreasing")
def other_optimiser_reset(fault: bool) -> None:
    """Of two optimisers one is reset twice, the other never."""
    trunk, head = nn.Linear(10, 16), nn.Linear(16, 3)
    for_trunk = torch.optim.SGD(trunk.parameters(), lr=0.05)
    for_head = torch.optim.SGD(head.parameters(), lr=0.05)
    norms: list[float] = []
    for x, y in batches(30, 32, *clusters(256, 10, 3, noise=1.0)):
        for_trunk.zero_grad()
        if fault:
            for_trunk.zero_grad()  # <- origin
        else:
            for_head.zero_grad()
        loss = F.cross_entropy(head(torch.tanh(trunk(x))), y)
        loss.backward()  # <- culprit
        for_trunk.step()
        for_head.step()
        norms.append(head.weight.grad.norm().item())
    confirm(fault, max(norms) > 2 * norms[0], norms)


@fault("missing_zero_grad", "zentracer.exploding", "zentracer.loss_spike", "loss_not_decreasing")
def reset_once_an_epoch(fault: bool) -> None:
    net = nn.Sequential(nn.Linear(10, 16), nn.Tanh(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    data = clusters(256, 10, 3)
    kept = 0
    for _ in range(4):
        optimizer.zero_grad()  # <- origin
        for x, y in batches(8, 32, *data):
            if not fault:
                optimizer.zero_grad()
            kept += net[0].weight.grad is not None
            F.cross_entropy(net(x), y).backward()  # <- culprit
            optimizer.step()
    confirm(fault, kept > 0)


@fault("scheduler_rhythm", "zentracer.stalled", "loss_not_decreasing")
def epoch_schedule_stepped_by_batch(fault: bool) -> None:
    """A decay meant for each epoch is applied after each batch: the rate is gone in one epoch."""
    net = classifier()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.3)
    data = clusters(320, 10, 3)
    for _ in range(4):
        for x, y in batches(20, 16, *data):
            loss = F.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if fault:
                schedule.step()  # <- culprit
        if not fault:
            schedule.step()
    rate = optimizer.param_groups[0]["lr"]
    confirm(fault, rate < 1e-10, rate)


@fault("scheduler_rhythm")
def schedule_before_the_step(fault: bool) -> None:
    """The first rate of the schedule is skipped."""
    import warnings

    net = classifier()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 40)
    used: list[float] = []
    for x, y in batches(40, 16, *clusters(320, 10, 3)):
        if fault:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                schedule.step()  # <- culprit
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        used.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if not fault:
            schedule.step()
    confirm(fault, used[0] < 0.1, used[0])


@fault("scheduler_rhythm")
def batch_schedule_stepped_by_epoch(fault: bool) -> None:
    """A one-cycle schedule over all batches is stepped after each epoch: it never gets anywhere."""
    net = classifier()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.2, epochs=4, steps_per_epoch=20)
    data = clusters(320, 10, 3)
    for _ in range(4):
        for x, y in batches(20, 16, *data):
            loss = F.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if not fault:
                schedule.step()
        if fault:
            schedule.step()  # <- culprit
    confirm(fault, schedule.last_epoch < 5, schedule.last_epoch)


@fault("double_softmax", "loss_not_decreasing")
def softmax_layer_before_cross_entropy(fault: bool) -> None:
    net = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 3))
    if fault:
        net.append(nn.Softmax(dim=-1))  # <- origin
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    criterion = nn.CrossEntropyLoss()
    loss = torch.zeros(())
    for x, y in batches(80, 32, *clusters(256, 10, 3, noise=0.3)):
        loss = criterion(net(x), y)  # <- culprit
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    confirm(fault, loss.item() > 0.5, loss.item())


@fault("double_softmax", "loss_not_decreasing")
def sigmoid_before_logits_loss(fault: bool) -> None:
    net = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    loss = torch.zeros(())
    for x, y in batches(80, 32, *clusters(256, 10, 2, noise=0.3)):
        out = net(x).squeeze(1)
        if fault:
            out = torch.sigmoid(out)  # <- origin
        loss = F.binary_cross_entropy_with_logits(out, y.float())  # <- culprit
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    confirm(fault, loss.item() > 0.4, loss.item())
