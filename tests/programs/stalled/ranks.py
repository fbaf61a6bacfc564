"""One of two ranks: a model under DDP whose optimiser owns the body only. Prints the hits."""

from __future__ import annotations

import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from tests.programs.stalled.parts import Net, train
from tests.runtime.watching import watching_for

if __name__ == "__main__":
    rank, store = int(sys.argv[1]), sys.argv[2]
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.manual_seed(rank)
    with watching_for("stalled") as host:
        net = DistributedDataParallel(Net())
        train(net, torch.optim.Adam(net.module.body.parameters()), steps=5)
    dist.barrier()
    dist.destroy_process_group()
    print(*(hit.text for hit in host.hits), *host.notices, sep="\n")
