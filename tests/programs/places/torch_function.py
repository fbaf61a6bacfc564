"""
place: a custom autograd function, under double backward, vmap and checkpointing
stops: 7
condition: tag == "backward" -> 3
"""

import torch
from torch.utils.checkpoint import checkpoint


def at(tag):
    return tag  # <- breakpoint


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        at("forward")
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        at("backward")
        (x,) = ctx.saved_tensors
        return 2 * x * grad


w = torch.ones(3, requires_grad=True)
(g,) = torch.autograd.grad(Square.apply(w).sum(), w, create_graph=True)
g.sum().backward()
Square.apply(w).sum().backward()
checkpoint(Square.apply, w, use_reentrant=False).sum().backward()
print(w.grad.tolist())
