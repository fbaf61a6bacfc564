"""A large tensor that changes at every stop: what benchmarks/editor.py looks at."""

import torch

images = torch.randn(8, 3, 1024, 1024)  # 100 MB
small = torch.randn(64, 128)
for step in range(100):
    images += 0.01
    small += 0.01
    print(step)  # @look
