"""
place: workers of a DataLoader, forked and spawned, with worker_init_fn and collate
stops: 12
condition: n == 1 -> 2
"""

import torch
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, n):
        return torch.tensor(n * n)  # <- breakpoint


def begin(worker):
    print("worker", worker, flush=True)


def collate(items):
    rows = torch.stack(items)
    return rows  # <- breakpoint


if __name__ == "__main__":
    for kind in ("fork", "spawn"):
        loader = DataLoader(
            Squares(),
            batch_size=2,
            num_workers=1,
            multiprocessing_context=kind,
            worker_init_fn=begin,
            collate_fn=collate,
        )
        for batch in loader:
            print(kind, batch.tolist(), flush=True)
