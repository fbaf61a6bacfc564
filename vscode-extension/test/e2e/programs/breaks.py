"""A small training, to break in its modules and at what writes to its parameters."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 16)
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        hidden = self.fc(x).relu()  # @fc
        return self.head(hidden)


def train():
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    weight = model.fc.weight
    for step in range(200):
        x = torch.randn(32, 8)
        loss = (model(x) - x.sum(dim=1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()  # @backward
        optimizer.step()  # @step
        if step == 100:
            weight.data[3, 5] = float("nan")  # @write
            return


train()
