"""Trainings in which only a part of the parameters learns, or one model teaches another."""

from __future__ import annotations

import copy
import itertools

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.programs.zoo.registry import batches, clusters, training


def pretrained() -> nn.Sequential:
    """Return a backbone from 16 to 24 features that has learnt a task of its own."""
    backbone = nn.Sequential(
        nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 24), nn.ReLU()
    )
    head = nn.Linear(24, 6)
    optimizer = torch.optim.Adam([*backbone.parameters(), *head.parameters()], lr=5e-3)
    for x, y in batches(30, 32, *clusters(192, 16, 6)):
        optimizer.zero_grad()
        F.cross_entropy(head(backbone(x)), y).backward()
        optimizer.step()
    return backbone


class WithHead(nn.Module):
    def __init__(self, backbone: nn.Module, classes: int) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(24, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.backbone(x))


@training
def frozen_backbone(steps: int) -> list[float]:
    """Frozen before the optimiser is made; the optimiser owns all parameters."""
    model = WithHead(pretrained(), 4)
    for parameter in model.backbone.parameters():
        parameter.requires_grad = False
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses: list[float] = []
    for x, y in batches(steps, 32, *clusters(256, 16, 4, noise=1.0)):
        model.train()
        model.backbone.eval()
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@training
def head_only(steps: int) -> list[float]:
    """The optimiser is given the head alone; the backbone is run without gradients."""
    backbone = pretrained().eval().requires_grad_(False)
    head = nn.Linear(24, 4)
    optimizer = torch.optim.Adam(head.parameters(), lr=1e-2)
    losses: list[float] = []
    for x, y in batches(steps, 32, *clusters(256, 16, 4, noise=1.0)):
        with torch.no_grad():
            features = backbone(x)
        loss = F.cross_entropy(head(features), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@training
def multi_task(steps: int) -> list[float]:
    """A frozen stem below two heads, with learnt weights of the two losses."""
    stem = pretrained().eval()
    for parameter in stem.parameters():
        parameter.requires_grad_(False)
    trunk = nn.Sequential(nn.LayerNorm(24), nn.Linear(24, 24), nn.ReLU())
    kinds, amounts = nn.Linear(24, 4), nn.Linear(24, 1)
    weights = nn.Parameter(torch.zeros(2))
    net = nn.ModuleDict({"stem": stem, "trunk": trunk, "kinds": kinds, "amounts": amounts})
    trainable = [p for p in net.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW([*trainable, weights], lr=1e-3)
    losses: list[float] = []
    for x, y in batches(steps, 32, *clusters(256, 16, 4, noise=1.0)):
        h = trunk(stem(x))
        first = F.cross_entropy(kinds(h), y)
        second = F.mse_loss(amounts(h).squeeze(-1), x.mean(1))
        loss = (torch.exp(-weights) * torch.stack([first, second]) + weights).sum()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@training
def gradual_unfreezing(steps: int) -> list[float]:
    """One optimiser over all; the body is frozen for the first third, then fine-tuned."""
    model = WithHead(pretrained(), 4)
    model.backbone.requires_grad_(False)
    optimizer = torch.optim.AdamW(
        [
            {"params": model.backbone.parameters(), "lr": 5e-4},
            {"params": model.head.parameters(), "lr": 5e-3},
        ]
    )
    losses: list[float] = []
    for step, (x, y) in enumerate(batches(steps, 32, *clusters(256, 16, 4, noise=1.0))):
        if step == steps // 3:
            model.backbone.requires_grad_(True)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@training
def linear_probe(steps: int) -> list[float]:
    """Features are computed once, in inference mode, and kept."""
    backbone = pretrained().eval()
    x, y = clusters(256, 16, 4, noise=1.0)
    with torch.inference_mode():
        features = backbone(x)
    probe = nn.Linear(24, 4)
    optimizer = torch.optim.SGD(probe.parameters(), lr=0.5, weight_decay=1e-4)
    losses: list[float] = []
    for h, labels in batches(steps, 64, features.clone(), y):
        loss = F.cross_entropy(probe(h), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


class Adapted(nn.Module):
    """A frozen linear layer with a low-rank update, whose second factor starts at zero."""

    def __init__(self, base: nn.Linear, rank: int) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_a = nn.Parameter(torch.randn(rank, base.in_features) * 0.1)
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + 2.0 * (x @ self.lora_a.T @ self.lora_b.T)


@training
def low_rank_adapters(steps: int) -> list[float]:
    """In the first step the first factors get a gradient of exactly zero."""
    backbone = pretrained()
    for name, layer in list(backbone.named_children()):
        if isinstance(layer, nn.Linear):
            setattr(backbone, name, Adapted(layer, 4))
    model = WithHead(backbone, 4)
    for name, parameter in model.named_parameters():
        parameter.requires_grad = "lora" in name or "head" in name
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=5e-3)
    losses: list[float] = []
    for x, y in batches(steps, 32, *clusters(256, 16, 4, noise=1.0)):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@training
def distillation(steps: int) -> list[float]:
    """A teacher in eval mode and without gradients; soft targets at a temperature."""
    teacher = WithHead(pretrained(), 6).eval()
    student = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 6))
    optimizer = torch.optim.Adam(student.parameters(), lr=5e-3)
    losses: list[float] = []
    for x, y in batches(steps, 32, *clusters(256, 16, 6, noise=1.0)):
        with torch.no_grad():
            soft = F.softmax(teacher(x) / 2.0, dim=1)
        logits = student(x)
        kl = F.kl_div(F.log_softmax(logits / 2.0, dim=1), soft, reduction="batchmean") * 4.0
        loss = 0.5 * kl + 0.5 * F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@training
def self_distillation(steps: int) -> list[float]:
    """BYOL-like: the target is a moving average of the student itself."""
    online = nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16))
    predictor = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16))
    target = copy.deepcopy(online).requires_grad_(False)
    optimizer = torch.optim.Adam(itertools.chain(online.parameters(), predictor.parameters()), 2e-3)
    data, _ = clusters(256, 16, 8)
    losses: list[float] = []
    for (x,) in batches(steps, 32, data):
        one, two = x + 0.3 * torch.randn_like(x), x + 0.3 * torch.randn_like(x)
        guess = predictor(online(one))
        with torch.no_grad():
            wanted = target(two)
        loss = 2 - 2 * F.cosine_similarity(guess, wanted, dim=-1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for mean, new in zip(target.parameters(), online.parameters()):
            mean.data.lerp_(new.data, 0.01)
        losses.append(loss.item())
    return losses


@training
def prompt_tuning(steps: int) -> list[float]:
    """Only a few prompt vectors learn; gradients flow through a frozen encoder in train mode."""
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    encoder, head = nn.TransformerEncoder(layer, 1), nn.Linear(16, 2)
    encoder.requires_grad_(False)
    prompt = nn.Parameter(torch.randn(1, 3, 16) * 0.5)
    optimizer = torch.optim.Adam([prompt, *head.parameters()], lr=1e-2)
    losses: list[float] = []
    for _ in range(steps):
        x = torch.randn(16, 4, 16)
        y = (x[:, :, 0].sum(1) > 0).long()
        h = encoder(torch.cat([prompt.expand(16, -1, -1), x], 1))
        loss = F.cross_entropy(head(h.mean(1)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
