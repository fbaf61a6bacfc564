"""Image classifiers."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

from tests.programs.zoo.registry import batches, clusters, images, training


@training
def cnn(steps: int) -> list[float]:
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 4),
    )  # fmt: skip
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    warmup = max(steps // 10, 1)

    def rate(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(steps - warmup, 1)))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    losses: list[float] = []
    for x, y in batches(steps, 16, *images(128, 3, 8, 4)):
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses


class Block(nn.Module):
    def __init__(self, width: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.drop = nn.Dropout2d(0.1)
        self.short = nn.Conv2d(width, width, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.drop(self.bn2(self.conv2(out)))
        out += self.short(x)
        return F.relu(out)


class ResNet(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.layers = nn.Sequential(Block(8), Block(8, stride=2))
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(8, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.layers(self.stem(x))
        return self.fc(self.drop(x.mean((2, 3))))


@training
def resnet(steps: int) -> list[float]:
    net = ResNet(5)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [steps // 2, steps * 3 // 4])
    losses: list[float] = []
    for x, y in batches(steps, 16, *images(160, 3, 8, 5)):
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses


@training
def checkpointed_blocks(steps: int) -> list[float]:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Linear(12, 24)
            self.blocks = nn.ModuleList(
                nn.Sequential(nn.LayerNorm(24), nn.Linear(24, 24), nn.GELU(), nn.Dropout(0.1))
                for _ in range(2)
            )
            self.head = nn.Linear(24, 4)

        def forward(self, x: Tensor) -> Tensor:
            x = self.stem(x)
            for block in self.blocks:
                x = x + checkpoint(block, x, use_reentrant=False)
            return self.head(x)

    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)
    losses: list[float] = []
    for x, y in batches(steps, 32, *clusters(256, 12, 4)):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@training
def sparse_activations(steps: int) -> list[float]:
    """An L1 penalty keeps half of the activations at zero, other ones for each sample."""
    first, second, head = nn.Linear(16, 64), nn.Linear(64, 64), nn.Linear(64, 4)
    parameters = [*first.parameters(), *second.parameters(), *head.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=2e-3)
    losses: list[float] = []
    for x, y in batches(steps, 64, *clusters(512, 16, 4, noise=1.0)):
        a = torch.relu(first(x))
        b = torch.relu(second(a))
        penalty = 0.03 * (a.abs().mean() + b.abs().mean())
        loss = F.cross_entropy(head(b), y) + penalty
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach()))
    return losses


@training
def train_and_validate(steps: int) -> list[float]:
    """Epochs over a loader with a smaller last batch; accuracy and confusion matrix after each."""
    x, y = images(150, 1, 8, 3)
    train = DataLoader(TensorDataset(x[:110], y[:110]), batch_size=16, shuffle=True)
    valid = DataLoader(TensorDataset(x[110:], y[110:]), batch_size=16)
    model = nn.Sequential(
        nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Flatten(),
        nn.Dropout(0.3), nn.Linear(6 * 36, 3),
    )  # fmt: skip
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=3)
    losses: list[float] = []
    best = 0.0
    while len(losses) < steps:
        model.train()
        for inputs, labels in train:
            optimizer.zero_grad()
            loss = criterion(model(inputs), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if len(losses) == steps:
                break
        model.eval()
        val_loss, confusion = 0.0, torch.zeros(3, 3, dtype=torch.long)
        with torch.no_grad():
            for inputs, labels in valid:
                outputs = model(inputs)
                val_loss += criterion(outputs, labels).item() * len(inputs)
                predicted = outputs.argmax(dim=1)
                confusion.index_put_((labels, predicted), torch.tensor(1), accumulate=True)
        val_loss /= 40
        accuracy = (confusion.diag().sum() / confusion.sum()).item()
        recall = confusion.diag() / confusion.sum(1).clamp(min=1)
        best = max(best, accuracy, recall.mean().item())
        plateau.step(val_loss)
    return losses


@training
def segmentation(steps: int) -> list[float]:
    """A U-shaped net with skip connections, upsampling and a soft Dice loss."""

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down = nn.Conv2d(1, 8, 3, padding=1)
            self.deep = nn.Conv2d(8, 8, 3, padding=1)
            self.up = nn.ConvTranspose2d(8, 8, 2, stride=2)
            self.out = nn.Conv2d(16, 1, 1)

        def forward(self, x: Tensor) -> Tensor:
            skip = F.leaky_relu(self.down(x), 0.1)
            deep = F.leaky_relu(self.deep(F.avg_pool2d(skip, 2)), 0.1)
            return self.out(torch.cat([skip, self.up(deep)], dim=1))

    net = UNet()
    optimizer = torch.optim.RMSprop(net.parameters(), lr=2e-3)
    losses: list[float] = []
    for _ in range(steps):
        mask = (F.avg_pool2d(torch.randn(4, 1, 8, 8), 3, 1, 1) > 0.1).float()
        logits = net(mask + 0.5 * torch.randn_like(mask))
        p = logits.sigmoid()
        overlap = 2 * (p * mask).sum((1, 2, 3))
        dice = 1 - ((overlap + 1) / (p.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + 1)).mean()
        loss = F.binary_cross_entropy_with_logits(logits, mask) + dice
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


class FakeQuantise(torch.autograd.Function):
    """Round to 8 bits; the gradient passes straight through inside the range."""

    @staticmethod
    def forward(ctx, x, scale):  # type: ignore[no-untyped-def]
        ctx.save_for_backward((x / scale).abs() <= 127)
        return torch.clamp((x / scale).round(), -127, 127) * scale

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        (inside,) = ctx.saved_tensors
        return grad * inside, None


@training
def quantisation_aware(steps: int) -> list[float]:
    class Quantised(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            scale = self.weight.detach().abs().max() / 127
            coarse = x + (((x * 16).round() / 16) - x).detach()
            return F.linear(coarse, FakeQuantise.apply(self.weight, scale), self.bias)

    net = nn.Sequential(Quantised(16, 32), nn.ReLU6(), Quantised(32, 4))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    losses: list[float] = []
    for x, y in batches(steps, 32, *clusters(256, 16, 4, noise=1.0)):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
