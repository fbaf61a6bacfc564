"""Twenty tensors that change from stop to stop: what benchmarks/watches.py watches."""

import torch


def turn():
    tensors = [torch.randn(512, 512) for _ in range(20)]
    while True:
        for tensor in tensors:
            tensor.mul_(1.001)
        turned = True  # @here  # noqa: F841 (watched)


turn()
