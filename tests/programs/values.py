"""A frame with values of every kind that a debugger shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn


@dataclass
class Output:
    loss: torch.Tensor
    name: str


class Broken:
    def __init__(self):
        self.held = 1

    def __repr__(self):
        raise RuntimeError("no repr today")

    def __getattr__(self, name):
        raise RuntimeError("no attribute today")


def main():
    torch.manual_seed(0)
    x = torch.tensor([[1.0, -2.0], [3.0, 4.0]])
    part = x[0]
    y = (x.clone().requires_grad_()).log()
    array = np.arange(6.0).reshape(2, 3)
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    many = [torch.full((3,), float(i)) for i in range(250)]
    table = {f"key{i}": i for i in range(150)}
    by_tensor = {x: 1, y: 2}
    output = Output(torch.ones(()), "out")
    storage = x.untyped_storage()
    broken = Broken()
    few = (x, array)
    line = torch.arange(1000)
    print("seen", x[0, 0].item(), net[0].weight[0, 0].item(), line[500].item())  # @here


main()
