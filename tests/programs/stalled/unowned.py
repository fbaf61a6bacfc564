"""Faults: parameters that no optimiser owns."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tests.programs.stalled.parts import Net, descend, train


def weights_without_the_norms() -> None:
    net = nn.Sequential(nn.Linear(6, 12), nn.LayerNorm(12), nn.Tanh(), nn.Linear(12, 3))
    decay = [p for p in net.parameters() if p.dim() > 1]
    rest = [p for n, p in net.named_parameters() if "bias" in n]
    optimizer = torch.optim.AdamW([{"params": decay}, {"params": rest}])  # <- culprit
    train(net, optimizer)


def second_network_forgotten() -> None:
    encoder, head = nn.Linear(6, 12), nn.Linear(12, 3)
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)  # <- culprit
    train(lambda x: head(torch.tanh(encoder(x))), optimizer)


def optimizer_of_an_old_model() -> None:
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model = Net()  # <- culprit
    train(model, optimizer)


def adapters_added_late() -> None:
    net = Net()
    optimizer = torch.optim.Adam(net.parameters())

    class Adapted(nn.Module):
        def __init__(self, inner: nn.Module) -> None:
            super().__init__()
            self.inner, self.low = inner, nn.Linear(6, 12)

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(x) + self.low(x)

    net.body = Adapted(net.body)  # type: ignore[assignment]  # <- culprit
    train(net, optimizer)


def module_added_late() -> None:
    net = nn.Sequential(nn.Linear(6, 12), nn.Tanh())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    net.add_module("out", nn.Linear(12, 3))  # <- culprit
    train(net, optimizer)


def parameter_made_anew_by_a_cast() -> None:
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    net.head.weight = nn.Parameter(net.head.weight.detach() * 0.5)  # <- culprit
    train(net, optimizer)


def replaced_in_a_function() -> None:
    net = Net(classes=10)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    new_head(net)
    train(net, optimizer)


def new_head(net: Net) -> None:
    net.head = nn.Linear(12, 3)  # <- culprit of replaced_in_a_function


class InList(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.heads = [nn.Linear(12, 3), nn.Linear(12, 3)]  # <- culprit of heads_in_a_list
        self.body = nn.Linear(6, 12)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.tanh(self.body(x))
        return self.heads[0](h) + self.heads[1](h)


def heads_in_a_list() -> None:
    net = InList()
    train(net, torch.optim.SGD(net.parameters(), lr=0.1))


class Appended(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = []  # <- culprit of layers_appended
        for _ in range(2):
            self.layers.append(nn.Linear(6, 6))
        self.out = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return self.out(x)


def layers_appended() -> None:
    net = Appended()
    train(net, torch.optim.Adam(net.parameters()))


class Nested(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = {"a": (nn.Linear(6, 6), nn.Linear(6, 6))}  # <- culprit of blocks_in_a_dict
        self.out = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.blocks["a"]:
            x = torch.relu(layer(x))
        return self.out(x)


def blocks_in_a_dict() -> None:
    net = Nested()
    train(net, torch.optim.SGD(net.parameters(), lr=0.1))


class Bare(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scales = [nn.Parameter(torch.ones(6))]  # <- culprit of parameters_in_a_list
        self.out = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(x * self.scales[0])


def parameters_in_a_list() -> None:
    net = Bare()
    train(net, torch.optim.SGD(net.parameters(), lr=0.1))


def plain_tensor_forgotten() -> None:
    w = torch.zeros(6, 3, requires_grad=True)
    b = torch.zeros(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)  # <- culprit
    train(lambda x: x @ w + b, optimizer)


def two_optimizers_and_a_gap() -> None:
    net = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 12), nn.Tanh(), nn.Linear(12, 3))
    first = torch.optim.SGD(net[0].parameters(), lr=0.1)  # <- culprit
    second = torch.optim.SGD(net[2].parameters(), lr=0.1)  # <- culprit
    for _ in range(6):
        descend(net(torch.randn(8, 6)).square().mean(), first)
        descend(net(torch.randn(8, 6)).square().mean(), second)
