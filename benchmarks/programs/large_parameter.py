"""One parameter of 2^26 elements, in a program that stands still."""

import torch

weight = torch.nn.Parameter(torch.zeros(1 << 26))
print("here")  # @here
