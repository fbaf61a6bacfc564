"""Runs every seeded fault and every healthy twin, with a stop before each.

A step of a healthy model goes before each, so that all of them start from a sound state.

Usage: python faults.py
"""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.programs import seeded


def main():
    programs = {name: function for name, (function, _) in seeded.FAULTS.items()}
    programs.update(seeded.HEALTHY)
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for name, program in programs.items():
        weight.square().sum().backward()
        optimizer.step()
        print(name)  # @next
        program()
    print("end")  # @end


main()
