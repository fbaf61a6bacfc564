"""Attention models."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.programs.zoo.registry import batches, images, sentences, training


@training
def transformer_encoder(steps: int) -> list[float]:
    """Pre-norm, padding masks, label smoothing, AdamW groups, warm-up, clipping."""

    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(16, 16, padding_idx=0)
            self.position = nn.Parameter(torch.randn(1, 10, 16) * 0.02)
            layer = nn.TransformerEncoderLayer(16, 2, 32, 0.1, batch_first=True, norm_first=True)
            self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.norm = nn.LayerNorm(16)
            self.head = nn.Linear(16, 3)

        def forward(self, x: Tensor) -> Tensor:
            padding = x == 0
            h = self.embed(x) * math.sqrt(16) + self.position[:, : x.shape[1]]
            h = self.norm(self.encoder(h, src_key_padding_mask=padding))
            keep = (~padding).unsqueeze(-1)
            return self.head((h * keep).sum(1) / keep.sum(1))

    model = Classifier()
    decay = [p for n, p in model.named_parameters() if p.ndim >= 2]
    rest = [p for n, p in model.named_parameters() if p.ndim < 2]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0.0}], lr=3e-3
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 30))
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    losses: list[float] = []
    for _ in range(steps):
        y = torch.randint(3, (8,))
        x = torch.where(torch.rand(8, 10) < 0.4, 1 + y[:, None] * 5, torch.randint(1, 16, (8, 10)))
        x[torch.arange(10) >= torch.randint(5, 11, (8, 1))] = 0
        loss = criterion(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.register_buffer("mask", torch.tril(torch.ones(16, 16, dtype=torch.bool)))

    def forward(self, x: Tensor) -> Tensor:
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(~self.mask[:t, :t], float("-inf"))
        out = F.dropout(scores.softmax(-1), 0.1, self.training) @ v
        return self.proj(out.transpose(1, 2).reshape(b, t, d))


class GPT(nn.Module):
    def __init__(self, words: int, width: int = 16) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.position = nn.Embedding(16, width)
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {
                    "ln1": nn.LayerNorm(width),
                    "attn": Attention(width, 2),
                    "ln2": nn.LayerNorm(width),
                    "mlp": nn.Sequential(
                        nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
                    ),
                }
            )
            for _ in range(2)
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.apply(self._init)
        self.head.weight = self.embed.weight

    def _init(self, module: nn.Module) -> None:
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, idx: Tensor) -> Tensor:
        x = self.embed(idx) + self.position(torch.arange(idx.shape[1]))
        for block in self.blocks:
            x = x + block["attn"](block["ln1"](x))
            x = x + block["mlp"](block["ln2"](x))
        return self.head(self.norm(x))


@training
def gpt(steps: int) -> list[float]:
    """Causal masks of minus infinity, embeddings tied to the head, small initialisation."""
    model = GPT(17)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, betas=(0.9, 0.95))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, total_steps=max(steps, 2))
    losses: list[float] = []
    for _ in range(steps):
        text = sentences(8, 11, 17)
        logits = model(text[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, 17), text[:, 1:].reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses


@training
def gpt_accumulated(steps: int) -> list[float]:
    """Four micro-batches an update; text is sampled from the model now and then."""
    model = GPT(13)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    losses: list[float] = []
    for step in range(steps):
        text = sentences(4, 9, 13)
        loss = F.cross_entropy(model(text[:, :-1]).transpose(1, 2), text[:, 1:])
        (loss / 4).backward()
        losses.append(loss.item())
        if (step + 1) % 4 == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        if step % 100 == 99:
            model.eval()
            sample = text[:1, :2]
            with torch.no_grad():
                for _ in range(6):
                    p = model(sample)[:, -1].softmax(-1)
                    sample = torch.cat([sample, torch.multinomial(p, 1)], dim=1)
            model.train()
    return losses


class Experts(nn.Module):
    """Top-1 routing over experts, of which most see no token in most steps."""

    def __init__(self, width: int, count: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, count)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, width))
            for _ in range(count)
        )

    def forward(self, x: Tensor) -> Tensor:
        p = self.gate(x).softmax(-1)
        weight, chosen = p.max(-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows = (chosen == i).nonzero().squeeze(-1)
            if len(rows):
                out = out.index_add(0, rows, expert(x[rows]) * weight[rows, None])
        return x + out


@training
def mixture_of_experts(steps: int) -> list[float]:
    """Domains come one after the other, so some experts are idle for many steps."""
    net = nn.Sequential(Experts(8, 6), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    domains = torch.randn(5, 8) * 2
    losses: list[float] = []
    for step in range(steps):
        domain = domains[step // 20 % 5]
        x = domain + 0.5 * torch.randn(16, 8)
        target = torch.sin(x[:, :1]) + domain[1] * 0.5
        loss = F.mse_loss(net(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@training
def vision_transformer(steps: int) -> list[float]:
    """Patches by a strided convolution, a class token expanded over the batch."""

    class ViT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patch = nn.Conv2d(1, 16, 4, stride=4)
            self.token = nn.Parameter(torch.zeros(1, 1, 16))
            self.position = nn.Parameter(torch.randn(1, 5, 16) * 0.02)
            self.attn = nn.MultiheadAttention(16, 2, batch_first=True)
            self.norm1, self.norm2 = nn.LayerNorm(16), nn.LayerNorm(16)
            self.mlp = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 16))
            self.head = nn.Linear(16, 4)

        def forward(self, x: Tensor) -> Tensor:
            x = self.patch(x).flatten(2).transpose(1, 2)
            x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.position
            h = self.norm1(x)
            x = x + self.attn(h, h, h, need_weights=False)[0]
            x = x + self.mlp(self.norm2(x))
            return self.head(x[:, 0])

    net = ViT()
    optimizer = torch.optim.NAdam(net.parameters(), lr=2e-3)
    losses: list[float] = []
    for x, y in batches(steps, 16, *images(128, 1, 8, 4)):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y, label_smoothing=0.05)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
