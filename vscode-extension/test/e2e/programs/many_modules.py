"""A model of 100,000 modules, for the picker."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, depth, width):
        super().__init__()
        for index in range(width):
            child = nn.Identity() if depth == 0 else Block(depth - 1, width)
            self.add_module(f"part{index}", child)


model = Block(4, 10)  # 10 + 100 + 1,000 + 10,000 + 100,000 modules below
model.head = nn.Linear(2, 2)
y = model.head(torch.ones(1, 2))
print(y)  # @picked
