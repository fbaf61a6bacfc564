"""Causal attention over sequences padded on the left: the first rows see nothing but padding."""

import torch
from torch import nn

HEADS, LENGTH, WIDTH = 4, 24, 64


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(WIDTH, 3 * WIDTH)

    def forward(self, x, lengths):
        batch = x.shape[0]
        query, key, value = self.project(x).view(batch, LENGTH, 3, HEADS, -1).unbind(2)
        scores = torch.einsum("bqhd,bkhd->bhqk", query, key) * 4
        places = torch.arange(LENGTH)
        scores = scores - (places[:, None] - places).abs() / 4
        hidden = (places < LENGTH - lengths[:, None, None, None]) | (places > places[:, None])
        scores = scores.masked_fill(hidden, float("-inf"))
        weights = scores.softmax(dim=-1)
        out = torch.einsum("bhqk,bkhd->bqhd", weights, value)  # @weights
        return out.flatten(2)


def main():
    torch.manual_seed(1)
    attention = Attention()
    x = torch.randn(3, LENGTH, WIDTH)
    x[:, 6:9] += 2 * torch.randn(3, 1, WIDTH)
    attention(x, torch.tensor([24, 20, 17]))


if __name__ == "__main__":
    main()
