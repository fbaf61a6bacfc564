"""
place: hooks that run when backward is called on several threads
stops: 2
condition: n == 1 -> 1
"""

import threading

import torch

w = torch.ones(2, requires_grad=True)


def train(n):
    def hook(grad):
        return grad * n  # <- breakpoint

    y = w * 2
    y.register_hook(hook)
    y.sum().backward()


for number in range(2):
    thread = threading.Thread(target=train, args=(number,))
    thread.start()
    thread.join()
print(w.grad.tolist())
