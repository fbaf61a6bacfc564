"""Faults: frozen once more, updates that are too small."""

from __future__ import annotations

import torch

from tests.programs.stalled.parts import Net, train


def frozen_again_in_phase_two() -> None:
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for rate in [0.1, 0.01]:
        optimizer.param_groups[0]["lr"] = rate
        net.body.requires_grad_(False)  # <- culprit
        train(net, optimizer, steps=5)


def frozen_again_by_a_function() -> None:
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    phase(net, optimizer)
    phase(net, optimizer)


def phase(net: Net, optimizer: torch.optim.Optimizer) -> None:
    for p in net.body.parameters():
        p.requires_grad_(False)  # <- culprit of frozen_again_by_a_function
    train(net, optimizer, steps=5)


def bfloat16_weights() -> None:
    net = Net().bfloat16()
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(torch.sign(p) * 0.5)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-5, weight_decay=0.0)  # <- culprit
    train(lambda x: net(x.bfloat16()).float(), optimizer, steps=22)


def hopeless_rate() -> None:
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-12)  # <- culprit
    train(net, optimizer, steps=22)


def schedule_that_ended() -> None:
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=3)  # <- culprit
    for _ in range(26):
        train(net, optimizer, steps=1)
        schedule.step()
