"""Parameters that do not learn: not owned, not reached, or not moved."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.programs.faults.record import batches, clusters, confirm, fault


class Model(nn.Module):
    def __init__(self, classes: int = 3) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(10, 24), nn.ReLU())
        self.head = nn.Linear(24, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.encoder(x))


def train(net: nn.Module, optimizer: Any, steps: int = 30) -> None:
    for x, y in batches(steps, 32, *clusters(256, 10, 3)):
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def still(parameter: Tensor, before: Tensor) -> bool:
    return torch.equal(parameter.detach(), before)


@fault("zentracer.stalled", "unchanged_tensor")
def owns_the_encoder_only(fault: bool) -> None:
    net = Model()
    start = net.head.weight.detach().clone()
    if fault:
        optimizer = torch.optim.AdamW(net.encoder.parameters(), lr=1e-2)  # <- culprit
    else:
        optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    train(net, optimizer)
    confirm(fault, still(net.head.weight, start))


@fault("zentracer.stalled", "unchanged_tensor")
def layers_in_a_dictionary(fault: bool) -> None:
    class Branches(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            branches = {"left": nn.Linear(10, 8), "right": nn.Linear(10, 8)}
            if fault:
                self.branches = branches  # <- culprit
            else:
                self.branches = nn.ModuleDict(branches)
            self.head = nn.Linear(16, 3)

        def forward(self, x: Tensor) -> Tensor:
            both = [torch.relu(self.branches[side](x)) for side in ("left", "right")]
            return self.head(torch.cat(both, 1))

    net = Branches()
    start = net.branches["left"].weight.detach().clone()
    train(net, torch.optim.SGD(net.parameters(), lr=0.1))
    confirm(fault, still(net.branches["left"].weight, start))


@fault("zentracer.stalled", "unchanged_tensor")
def parameters_in_a_tuple(fault: bool) -> None:
    """Parameters in a tuple are not registered either."""

    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            weights = (nn.Parameter(torch.randn(10, 3) * 0.1), nn.Parameter(torch.zeros(3)))
            if fault:
                self.weights = weights  # <- culprit
            else:
                self.weights = nn.ParameterList(weights)
            self.scale = nn.Parameter(torch.ones(()))

        def forward(self, x: Tensor) -> Tensor:
            return (x @ self.weights[0] + self.weights[1]) * self.scale

    net = Scaled()
    start = net.weights[0].detach().clone()
    train(net, torch.optim.SGD(net.parameters(), lr=0.1))
    confirm(fault, still(net.weights[0], start))


@fault("zentracer.stalled", "unchanged_tensor")
def head_replaced_by_name(fault: bool) -> None:
    """The optimiser still owns the parameters of the head that was there before."""
    net = Model(classes=10)
    if not fault:
        net.head = nn.Linear(24, 3)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    if fault:
        setattr(net, "head", nn.Linear(24, 3))  # noqa: B010  # <- culprit
    start = net.head.weight.detach().clone()
    train(net, optimizer)
    confirm(fault, still(net.head.weight, start))


@fault("zentracer.stalled", "unchanged_tensor")
def table_replaced_by_vectors(fault: bool) -> None:
    """Pretrained vectors are put in as a new parameter instead of being copied."""
    table, head = nn.Embedding(40, 8), nn.Linear(8, 2)
    optimizer = torch.optim.Adam([*table.parameters(), *head.parameters()], lr=1e-2)
    vectors = torch.randn(40, 8)
    if fault:
        table.weight = nn.Parameter(vectors)  # <- culprit
    else:
        table.weight.data.copy_(vectors)
    for _ in range(30):
        words = torch.randint(40, (32, 5))
        y = (words < 15).sum(1).gt(1).long()
        loss = F.cross_entropy(head(table(words).mean(1)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    confirm(fault, still(table.weight, vectors))


@fault("zentracer.stalled", "unchanged_tensor")
def judge_stays_frozen(fault: bool) -> None:
    """The judge is frozen in the generator's step and not thawed for its own."""
    maker = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
    judge = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    for_maker = torch.optim.Adam(maker.parameters(), lr=1e-3)
    for_judge = torch.optim.Adam(judge.parameters(), lr=1e-3)
    early = torch.zeros(0)
    for step in range(40):
        if not fault:
            judge.requires_grad_(True)
        real, fake = torch.randn(16, 2) * 0.2 + 1, maker(torch.randn(16, 3))
        if judge[0].weight.requires_grad:
            d_loss = F.softplus(-judge(real)).mean() + F.softplus(judge(fake.detach())).mean()
            for_judge.zero_grad()
            d_loss.backward()
            for_judge.step()
        if step == 1:
            early = judge[0].weight.detach().clone()
        judge.requires_grad_(False)  # <- culprit
        g_loss = F.softplus(-judge(fake)).mean()
        for_maker.zero_grad()
        g_loss.backward()
        for_maker.step()
    confirm(fault, still(judge[0].weight, early))


@fault("zentracer.stalled", "unchanged_tensor")
def layer_that_is_never_called(fault: bool) -> None:
    """The second layer is made but the first is used twice."""

    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(10, 10)
            self.second = nn.Linear(10, 10)  # <- culprit
            self.head = nn.Linear(10, 3)

        def forward(self, x: Tensor) -> Tensor:
            x = torch.relu(self.first(x))
            again = self.first if fault else self.second  # <- origin
            return self.head(torch.relu(again(x)))

    net = Twice()
    start = net.second.weight.detach().clone()
    train(net, torch.optim.Adam(net.parameters(), lr=1e-2))
    confirm(fault, still(net.second.weight, start))


@fault("zentracer.stalled", "unchanged_tensor", "loss_not_decreasing", "scheduler_rhythm")
def warm_up_that_never_warms(fault: bool) -> None:
    """The schedule begins with a rate of nearly zero, and is never stepped."""
    net = Model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(  # <- origin
        optimizer, lambda step: min(1.0, 1e-9 + step / 10)
    )
    start = net.head.weight.detach().clone()
    for x, y in batches(30, 32, *clusters(256, 10, 3)):
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # <- culprit
        if not fault:
            schedule.step()
    confirm(fault, torch.allclose(net.head.weight, start, atol=1e-6))


@fault("zentracer.stalled", "unchanged_tensor", "loss_not_decreasing", "missing_zero_grad")
def gradients_reset_before_the_step(fault: bool) -> None:
    net = Model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    start = net.head.weight.detach().clone()
    for x, y in batches(30, 32, *clusters(256, 10, 3)):
        if not fault:
            optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        if fault:
            optimizer.zero_grad()  # <- culprit
        optimizer.step()
    confirm(fault, still(net.head.weight, start))


@fault("non_leaf_grad", "zentracer.stalled", "loss_not_decreasing", "unchanged_tensor")
def weight_moved_to_another_type(fault: bool) -> None:
    """``double()`` after ``requires_grad`` makes a copy that is no leaf."""
    if fault:
        weight = torch.zeros(6, 3, requires_grad=True).double()  # <- culprit
    else:
        weight = torch.zeros(6, 3, dtype=torch.float64, requires_grad=True)
    hand_written(weight)
    confirm(fault, not weight.detach().any())


@fault("non_leaf_grad", "zentracer.stalled", "loss_not_decreasing", "unchanged_tensor")
def weight_reshaped(fault: bool) -> None:
    weight = torch.zeros(18, dtype=torch.float64, requires_grad=True)
    if fault:
        weight = weight.view(6, 3)  # <- culprit
    else:
        weight = weight.detach().view(6, 3).requires_grad_()
    hand_written(weight)
    confirm(fault, not weight.detach().any())


def hand_written(weight: Tensor) -> None:
    """Descend by hand, for as long as there is a gradient."""
    import warnings

    data, labels = clusters(128, 6, 3)
    for x, y in batches(20, 32, data.double(), labels):
        loss = F.cross_entropy(x @ weight, y)
        loss.backward(retain_graph=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            grad = weight.grad
        if grad is not None:
            with torch.no_grad():
                weight -= 0.1 * grad
                grad.zero_()
