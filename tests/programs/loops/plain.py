"""Loops written by hand."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.programs.loops.record import Taken, data, loop, small


@loop(12, 3, "SGD")
def plain() -> list[Taken]:
    net, loader = small(), data(32, 8)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    taken: list[Taken] = []
    for epoch in range(3):
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            taken.append(Taken(epoch, (loss.item(),)))
    return taken


@loop(12, 3, "Adam")
def validated() -> list[Taken]:
    """A validation before the first epoch and after each; its loader is a second one."""
    net, train, valid = small(), data(32, 8), data(24, 8, shuffle=False)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    taken: list[Taken] = []

    def validate() -> float:
        net.eval()
        with torch.no_grad():
            total = sum(F.cross_entropy(net(x), y).item() for x, y in valid)
        net.train()
        return total / len(valid)

    best = validate()
    for _ in range(3):
        for x, y in train:
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            taken.append(Taken(len(taken) // 4, (loss.item(),)))
        schedule.step()
        best = min(best, validate())
    return taken


@loop(10, 1, "AdamW", has_epochs=False)
def counted() -> list[Taken]:
    """No loader and no epochs: batches are drawn for a number of steps."""
    net, taken = small(), []
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    step = 0
    while step < 10:
        x = torch.randn(8, 6)
        loss = F.cross_entropy(net(x), x[:, :3].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        taken.append(Taken(0, (loss.item(),)))
    return taken


@loop(8, 2, "SGD")
def accumulated() -> list[Taken]:
    """Three micro-batches a step; what is left at the end of an epoch is a step too."""
    net, loader = small(), data(44, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    taken, micro = [], []
    for epoch in range(2):
        for i, (x, y) in enumerate(loader):
            loss = F.cross_entropy(net(x), y) / 3
            loss.backward()
            micro.append(loss.item())
            if (i + 1) % 3 == 0 or i + 1 == len(loader):
                optimizer.step()
                optimizer.zero_grad()
                taken.append(Taken(epoch, tuple(micro)))
                micro.clear()
    return taken


@loop(9, 3, "LBFGS")
def closures() -> list[Taken]:
    """The optimiser calls the closure, several times a step."""
    net, loader = small().eval(), data(24, 8)
    optimizer = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=2)
    taken: list[Taken] = []
    for epoch in range(3):
        for x, y in loader:
            seen: list[float] = []

            def closure(x: Tensor = x, y: Tensor = y, seen: list[float] = seen) -> Tensor:
                optimizer.zero_grad()
                loss = F.cross_entropy(net(x), y)
                loss.backward()
                seen.append(loss.item())
                return loss

            optimizer.step(closure)
            taken.append(Taken(epoch, tuple(seen)))
    return taken


@loop(8, 2, "Adam", "RMSprop")
def adversarial() -> list[Taken]:
    """Two nets with an optimiser each; a round of both is a step."""
    generator, judge = nn.Linear(4, 6), nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
    for_d = torch.optim.Adam(judge.parameters(), lr=1e-2)
    for_g = torch.optim.RMSprop(generator.parameters(), lr=1e-3)
    taken: list[Taken] = []
    for epoch in range(2):
        for x, _ in data(32, 8):
            fake = generator(torch.randn(len(x), 4))
            for_d.zero_grad()
            d_loss = F.softplus(-judge(x)).mean() + F.softplus(judge(fake.detach())).mean()
            d_loss.backward()
            for_d.step()
            for_g.zero_grad()
            g_loss = F.softplus(-judge(fake)).mean()
            g_loss.backward()
            for_g.step()
            taken.append(Taken(epoch, (d_loss.item(), g_loss.item())))
    return taken


@loop(8, 2, "SGD", "Adam")
def one_backward_for_two() -> list[Taken]:
    """One loss, one backward, an optimiser for the body and one for the head."""
    net, loader = small(), data(32, 8)
    body = torch.optim.SGD(net[0].parameters(), lr=0.1)
    head = torch.optim.Adam(net[3].parameters(), lr=1e-2)
    taken: list[Taken] = []
    for epoch in range(2):
        for x, y in loader:
            for optimizer in (body, head):
                optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            for optimizer in (body, head):
                optimizer.step()
            taken.append(Taken(epoch, (loss.item(),)))
    return taken


@loop(8, 2, "SGD")
def two_losses() -> list[Taken]:
    """Two losses are back-propagated one by one before the step."""
    net, other, loader = small(), nn.Linear(16, 1), data(32, 8)
    optimizer = torch.optim.SGD([*net.parameters(), *other.parameters()], lr=0.1)
    taken: list[Taken] = []
    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            hidden = net[:2](x)
            first = F.cross_entropy(net[2:](hidden), y)
            second = F.mse_loss(other(hidden).squeeze(1), x.sum(1))
            first.backward(retain_graph=True)
            second.backward()
            optimizer.step()
            taken.append(Taken(epoch, (first.item(), second.item())))
    return taken


@loop(8, 2, "Adam")
def in_methods() -> list[Taken]:
    """A class of the user's own: forward, loss, backward and step in methods of their own."""

    class Experiment:
        def __init__(self) -> None:
            self.net, self.loader = small(), data(32, 8)
            self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-2)
            self.current_epoch = 0
            self.taken: list[Taken] = []

        def optimise(self, loss: Tensor) -> None:
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

        def run_epoch(self) -> None:
            for x, y in self.loader:
                loss = F.cross_entropy(self.net(x), y)
                self.optimise(loss)
                self.taken.append(Taken(self.current_epoch, (loss.item(),)))

        def fit(self) -> list[Taken]:
            for self.current_epoch in range(2):
                self.run_epoch()
            return self.taken

    return Experiment().fit()
