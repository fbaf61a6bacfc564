"""A model that stands still with its numbers in view: before a step, and between its passes."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
data = torch.randn(3, 4)


def train(steps):
    for step in range(steps):
        optimizer.zero_grad()  # @before
        loss = model(data).pow(2).sum()
        loss.backward()  # @between
        optimizer.step()  # @after
        print(f"step {step}: {loss.item():.6f}", flush=True)


train(2)
print("finite", all(bool(p.isfinite().all()) for p in model.parameters()))
