"""A weight that is changed while the program stands still; what it makes goes to outputs.jsonl."""

import json

import torch


def train():
    layer = torch.nn.Linear(3, 2, bias=False)
    weight = layer.weight
    torch.nn.init.ones_(weight)
    x = torch.tensor([1.0, 2.0, 4.0])
    for _turn in range(5):
        y = layer(x)  # @look
        y.sum().backward()
        with open("outputs.jsonl", "a") as file:
            print(json.dumps(y.tolist()), file=file)


train()
