"""
place: the ranks of a distributed run, started by torchrun or `accelerate launch`
stops: 4
condition: rank == 1 -> 2
"""

import os

import torch
from torch import distributed

if __name__ == "__main__":
    distributed.init_process_group("gloo")
    rank = distributed.get_rank()
    for step in range(2):
        x = torch.ones(1) * step
        distributed.all_reduce(x)  # <- breakpoint
    print(f"rank {os.environ['RANK']} done: {x.item():g}", flush=True)
    distributed.destroy_process_group()
