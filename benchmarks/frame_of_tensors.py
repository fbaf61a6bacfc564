"""A frame as it may stand in a training script: what benchmarks/variables.py looks at."""

# ruff: noqa: RUF059 (the locals are there to be looked at)

from __future__ import annotations

import sys
from typing import Any

import torch
from torch import nn


def stand(sizes: dict[str, int]) -> Any:
    big = torch.zeros(sizes["big"])
    many = [torch.randn(8) for _ in range(sizes["many"])]
    net = nn.Sequential(*[nn.Linear(32, 32) for _ in range(50)])
    state = net.state_dict()
    raw = torch.zeros(sizes["raw"]).untyped_storage()
    return look(big, many, net, state, raw)


def look(big: Any, many: Any, net: Any, state: Any, raw: Any) -> Any:
    x00, x01, x02, x03, x04, x05, x06, x07, x08, x09 = (torch.randn(64, 64) for _ in range(10))
    x10, x11, x12, x13, x14, x15, x16, x17, x18, x19 = (torch.randn(64, 64) for _ in range(10))
    x20, x21, x22, x23, x24, x25, x26, x27, x28, x29 = (torch.randn(64, 64) for _ in range(10))
    x30, x31, x32, x33, x34, x35, x36, x37, x38, x39 = (torch.randn(64, 64) for _ in range(10))
    x40, x41, x42, x43, x44, x45, x46, x47, x48, x49 = (torch.randn(64, 64) for _ in range(10))
    return big  # @here


stand({"big": int(sys.argv[1]), "many": 2_000, "raw": int(sys.argv[2])})
