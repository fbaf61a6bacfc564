"""Graphs that are cut: a loss or a part of the model that no gradient comes back from."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.programs.faults.record import batches, clusters, confirm, fault

CUT = ("zentracer.stalled", "unchanged_tensor", "graph_cut", "zentracer.vanishing")


def parts() -> tuple[nn.Module, nn.Module, torch.optim.Optimizer]:
    encoder, head = nn.Sequential(nn.Linear(10, 16), nn.Tanh()), nn.Linear(16, 3)
    return encoder, head, torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)


def descend(loss: Tensor, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


@fault(*CUT)
def detached_features(fault: bool) -> None:
    encoder, head, optimizer = parts()
    for x, y in batches(25, 32, *clusters(256, 10, 3)):
        h = encoder(x)
        if fault:
            h = h.detach()  # <- culprit
        descend(F.cross_entropy(head(h), y), optimizer)
    confirm(fault, encoder[0].weight.grad is None)


@fault(*CUT)
def no_grad_left_over(fault: bool) -> None:
    """The encoder was frozen once; it is to be trained now, but still runs under no_grad."""
    encoder, head, optimizer = parts()
    for x, y in batches(25, 32, *clusters(256, 10, 3)):
        if fault:
            with torch.no_grad():  # <- origin
                h = encoder(x)  # <- culprit
        else:
            h = encoder(x)
        descend(F.cross_entropy(head(h), y), optimizer)
    confirm(fault, encoder[0].weight.grad is None)


@fault(*CUT)
def through_numpy(fault: bool) -> None:
    """A step of the preprocessing is done in numpy, after the encoder."""
    encoder, head, optimizer = parts()
    for x, y in batches(25, 32, *clusters(256, 10, 3)):
        h = encoder(x)
        if fault:
            h = torch.from_numpy(h.detach().numpy().clip(-0.9, 0.9))  # <- culprit
        else:
            h = h.clamp(-0.9, 0.9)
        descend(F.cross_entropy(head(h), y), optimizer)
    confirm(fault, encoder[0].weight.grad is None)


@fault(*CUT)
def wrapped_anew(fault: bool) -> None:
    """Values are taken out one by one and put into a new tensor."""
    encoder, head, optimizer = parts()
    for x, y in batches(25, 16, *clusters(128, 10, 3)):
        h = encoder(x)
        if fault:
            h = torch.tensor([row.tolist() for row in h])  # <- culprit
        descend(F.cross_entropy(head(h), y), optimizer)
    confirm(fault, encoder[0].weight.grad is None)


@fault("graph_cut", "zentracer.stalled", "unchanged_tensor")
def hard_threshold(fault: bool) -> None:
    """A mask from a comparison has no gradient: the net that scores never learns."""
    scorer, head = nn.Linear(10, 10), nn.Linear(10, 3)
    optimizer = torch.optim.Adam([*scorer.parameters(), *head.parameters()], lr=1e-2)
    start = scorer.weight.detach().clone()
    for x, y in batches(25, 32, *clusters(256, 10, 3)):
        mask = scorer(x).sigmoid()
        if fault:
            mask = (mask > 0.5).float()  # <- culprit
        descend(F.cross_entropy(head(x * mask), y), optimizer)
    confirm(fault, torch.equal(scorer.weight, start))


@fault("graph_cut", "zentracer.stalled", "unchanged_tensor")
def rounded_counts(fault: bool) -> None:
    """``round`` has a gradient of zero everywhere."""
    counter = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 1))
    head = nn.Linear(10, 3)
    optimizer = torch.optim.Adam([*counter.parameters(), *head.parameters()], lr=1e-2)
    for x, y in batches(25, 32, *clusters(256, 10, 3)):
        count = counter(x).squeeze(1) * 3
        if fault:
            count = count.round()  # <- culprit
        loss = F.cross_entropy(head(x), y) + F.mse_loss(count, y.float())
        descend(loss, optimizer)
    confirm(fault, not counter[0].weight.grad.any())


@fault("graph_cut", "zentracer.stalled", "unchanged_tensor")
def term_as_a_number(fault: bool) -> None:
    """A second loss is added by ``item()``: it is logged, and changes nothing."""
    trunk, kinds, amounts = nn.Linear(10, 16), nn.Linear(16, 3), nn.Linear(16, 1)
    net = nn.ModuleList([trunk, kinds, amounts])
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for x, y in batches(25, 32, *clusters(256, 10, 3)):
        h = torch.tanh(trunk(x))
        loss = F.cross_entropy(kinds(h), y)
        term = F.mse_loss(amounts(h).squeeze(1), x.mean(1))
        if fault:
            loss = loss + 0.5 * term.item()  # <- culprit
        else:
            loss = loss + 0.5 * term
        descend(loss, optimizer)
    confirm(fault, amounts.weight.grad is None)
