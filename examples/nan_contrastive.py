"""Learn an embedding of catalogue items in which items of one category lie close together.

The loss falls for a while, then it is NaN for good and nothing says why. Find out with

    zentracer debug examples/nan_contrastive.py
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

CATEGORIES, ITEMS, FEATURES = 12, 2000, 32


class Catalogue(Dataset):
    """Pairs of items, half of them from one category.

    As in any real catalogue, some suppliers list the same item twice.
    """

    def __init__(self, pairs):
        centres = 2 * torch.randn(CATEGORIES, FEATURES)
        self.category = torch.arange(ITEMS) % CATEGORIES
        self.features = centres[self.category] + torch.randn(ITEMS, FEATURES)
        listed = torch.randperm(ITEMS // 2)[:50]
        again = torch.randperm(ITEMS // 2)[:50] + ITEMS // 2
        self.features[again] = self.features[listed]
        self.category[again] = self.category[listed]
        self.pairs = pairs

    def __len__(self):
        return self.pairs

    def __getitem__(self, index):
        left, right = torch.randint(ITEMS, (2,)).tolist()
        if index % 2:
            right -= right % CATEGORIES - left % CATEGORIES  # into the category of left
        if right == left or right >= ITEMS:
            right = (left + CATEGORIES) % ITEMS
        same = float(self.category[left] == self.category[right])
        return self.features[left], self.features[right], same


class Encoder(nn.Module):
    def __init__(self, width=64, embedding=16):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(FEATURES, width), nn.GELU(), nn.LayerNorm(width), nn.Linear(width, embedding)
        )

    def forward(self, x):
        return self.layers(x)


class ContrastiveLoss(nn.Module):
    """Pull pairs of one category together, push others apart up to a margin."""

    def __init__(self, margin=2.0):
        super().__init__()
        self.margin = margin

    def forward(self, left, right, same):
        squared = (left - right).pow(2).sum(dim=1)
        distance = torch.sqrt(squared)
        pull = same * distance.pow(2)
        push = (1 - same) * torch.relu(self.margin - distance).pow(2)
        return (pull + push).mean()


def train(epochs=6):
    torch.manual_seed(3)
    loader = DataLoader(Catalogue(pairs=2048), batch_size=64)
    encoder, contrastive = Encoder(), ContrastiveLoss()
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=1e-3)
    for epoch in range(epochs):
        total = 0.0
        for left, right, same in loader:
            loss = contrastive(encoder(left), encoder(right), same.float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}  loss {total / len(loader):.4f}", flush=True)


if __name__ == "__main__":
    train()
