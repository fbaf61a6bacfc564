"""A deep plain CNN whose first layers do not learn: its weights begin too small.

Run it as it is, and the loss stays at ln(4) = 1.386, the value of a guess. With

    zentracer debug --break vanishing examples/deep_cnn.py

the run stops after a few steps: what arrives at the first convolutions is a billionth of the last
layer's gradient, each layer passes on a twentieth. The light bulb, or the line under "What to try",
is the repair, which ``--repaired`` uses: He's initialisation keeps the scale of activations and
gradients from layer to layer, and the network learns.
"""

import argparse
import math

import torch
from torch import nn
from torch.nn import functional as F

DEPTH, WIDTH, CLASSES = 12, 16, 4


class DeepCNN(nn.Module):
    """Twelve convolutions one after the other, without normalisation or shortcuts."""

    def __init__(self, repaired: bool):
        super().__init__()
        channels = [1] + [WIDTH] * DEPTH
        layers = []
        for before, after in zip(channels, channels[1:]):
            conv = nn.Conv2d(before, after, kernel_size=3, padding=1)
            if repaired:
                nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
            else:
                nn.init.normal_(conv.weight, std=0.01)
            nn.init.zeros_(conv.bias)
            layers += [conv, nn.ReLU()]
        self.features = nn.Sequential(*layers)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, images):
        return self.head(self.features(images).mean((2, 3)))


def stripes(count):
    """Return noisy images of stripes in four directions, and the direction of each."""
    labels = torch.randint(0, CLASSES, (count,))
    angles = labels * (math.pi / CLASSES)
    y, x = torch.meshgrid(torch.arange(12.0), torch.arange(12.0), indexing="ij")
    along = torch.cos(angles)[:, None, None] * x + torch.sin(angles)[:, None, None] * y
    images = torch.sin(along * 1.3 + torch.rand(count, 1, 1) * 2 * math.pi)
    return (images + 0.2 * torch.randn_like(images)).unsqueeze(1), labels


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repaired", action="store_true", help="use He's initialisation")
    parser.add_argument("--steps", type=int, default=150)
    options = parser.parse_args()

    torch.manual_seed(0)
    model = DeepCNN(options.repaired)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for step in range(options.steps):
        images, labels = stripes(64)
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0 or step == options.steps - 1:
            print(f"step {step:3}  loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
