"""Code that something else runs in place of Python: compiled.py compile|script|trace|scripted."""

import sys

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        y = self.fc(x)
        return y.relu()  # @forward


def double(x):
    return x * 2  # @double


def compiled():
    net = torch.compile(Net(), backend="eager")  # @compile
    for step in range(4):
        net(torch.ones(1, 2))
        print("step", step, flush=True)  # @step


def scripted():
    net = torch.jit.script(Net())  # @script
    for _ in range(2):
        net(torch.ones(1, 2))
    print("scripted", flush=True)  # @scripted


def traced():
    function = torch.jit.trace(double, torch.ones(2), check_trace=False)  # @trace
    for _ in range(2):
        function(torch.ones(2))
    print("traced", flush=True)


torch.manual_seed(0)
{"compile": compiled, "script": scripted, "trace": traced}[sys.argv[1]]()
