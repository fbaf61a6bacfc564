"""
place: data pipelines in the main process: sampler, map and iterable dataset, collate
stops: 14
condition: n == 3 -> 2
"""

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler


class Backwards(Sampler):
    def __len__(self):
        return 4

    def __iter__(self):
        for n in (3, 2, 1, 0):
            row = n  # <- breakpoint
            yield row


class Squares(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, n):
        return torch.tensor(n * n)  # <- breakpoint


class Stream(IterableDataset):
    def __iter__(self):
        for i in range(2):
            yield torch.tensor(i)  # <- breakpoint


def collate(items):
    n = len(items)
    return torch.stack(items), n  # <- breakpoint


for batch in DataLoader(Squares(), batch_size=2, sampler=Backwards(), collate_fn=collate):
    print(batch)
for batch in DataLoader(Stream(), batch_size=1, collate_fn=collate):
    print(batch)
