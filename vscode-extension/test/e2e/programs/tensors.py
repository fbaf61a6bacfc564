"""Tensors whose numbers are known: what torch says of them goes to numbers.jsonl."""

import json

import torch


def known(step):
    ramp = (torch.arange(12.0).reshape(3, 4) - 5) * (step + 1) / 7
    ramp[1, 2] = float("nan")
    empty = torch.zeros(0, 5)
    deep = torch.arange(6561, dtype=torch.int32).reshape(3, 3, 3, 3, 3, 3, 3, 3)
    photo = torch.rand(3, 24, 32, generator=torch.Generator().manual_seed(step))
    table = torch.arange(600 * 40, dtype=torch.float64).reshape(600, 40) / 3
    gone = torch.ones(2, 2)
    record(ramp)
    pass  # @look
    del gone
    return empty, deep, photo, table  # @deleted


def record(ramp):
    finite = ramp[ramp.isfinite()]
    numbers = {
        "min": finite.min().item(),
        "max": finite.max().item(),
        "mean": finite.double().mean().item(),
        "norm": finite.double().norm().item(),
        "NaN": int(ramp.isnan().sum()),
        "zeros": int((ramp == 0).sum()),
        "values": [[str(x) for x in row] for row in ramp.numpy()],
    }
    with open("numbers.jsonl", "a") as file:
        print(json.dumps(numbers), file=file)


for step in range(3):
    known(step)
