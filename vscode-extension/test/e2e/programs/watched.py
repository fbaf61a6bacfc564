"""A training that stops four times, for what a watch and the Tensor panel say of the steps."""

import torch
from torch import nn


def train():
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    inputs = torch.randn(256, 16)
    targets = inputs[:, :4].prod(dim=1, keepdim=True)
    for step in range(1, 401):
        batch = torch.randint(0, 256, (32,))
        error = model(inputs[batch]) - targets[batch]
        loss = error.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        hidden = model[0].weight  # noqa: F841 (watched)
        optimizer.step()
        if step in (40, 120, 240, 400):
            print(step, loss.item())  # @look


train()
