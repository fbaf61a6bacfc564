import sys

import torch
from findings import hit, stop
from torch.overrides import TorchFunctionMode


class Hook(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if func is torch.log:
            stop(hit("forward"), sys._getframe(1))
        return out


class Net(torch.nn.Module):
    def forward(self, x):
        y = torch.log(x)  # @forward
        return y * 2  # @forward-next


def train():
    net = Net()
    x = torch.ones(3, requires_grad=True)
    with Hook():
        out = net(x)  # @call
    here = sys._getframe()
    out.register_hook(lambda grad: stop(hit("backward"), here) and None)
    out.sum().backward()  # @backward
    return x.grad  # @backward-next


print(train())  # @train
