"""The two models every step-time figure is measured on, each as a function that makes one step."""

from __future__ import annotations

from typing import Callable

import torch
from torch import Tensor, nn


def transformer() -> Callable[[], Tensor]:
    """Return a training step of a 6-layer encoder: d=256, batch 8, sequence 64."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(256, 8, 1024, dropout=0.1, batch_first=True)
    net = nn.Sequential(
        nn.TransformerEncoder(layer, 6, enable_nested_tensor=False), nn.Linear(256, 10)
    )
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    x, y = torch.randn(8, 64, 256), torch.randint(0, 10, (8, 64))

    def step() -> Tensor:
        loss = nn.functional.cross_entropy(net(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


class Block(nn.Module):
    def __init__(self, inp: int, out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inp, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.relu = nn.ReLU(inplace=True)
        self.down = None
        if stride != 1 or inp != out:
            self.down = nn.Sequential(
                nn.Conv2d(inp, out, 1, stride, bias=False), nn.BatchNorm2d(out)
            )

    def forward(self, x: Tensor) -> Tensor:
        identity = x if self.down is None else self.down(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.bn2(self.conv2(x))
        x += identity
        return self.relu(x)


def resnet() -> Callable[[], Tensor]:
    """Return a training step of a ResNet-18 of width 32 on 32x32 images, batch 16."""
    torch.manual_seed(0)
    blocks: list[nn.Module] = []
    inp = 32
    for out, stride in ((32, 1), (64, 2), (128, 2), (256, 2)):
        blocks += [Block(inp, out, stride), Block(out, out, 1)]
        inp = out
    net = nn.Sequential(
        nn.Conv2d(3, 32, 3, 1, 1, bias=False),
        nn.BatchNorm2d(32),
        nn.ReLU(inplace=True),
        *blocks,
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(256, 10),
    )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    x, y = torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))

    def step() -> Tensor:
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


MODELS = {"transformer": transformer, "resnet": resnet}
