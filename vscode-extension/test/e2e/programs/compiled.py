"""Calls compiled code until it is stopped."""

import time

import torch


def loss_of(x):
    y = x * 2
    return y.sum()  # @inside


compiled = torch.compile(loss_of, backend="eager")
while True:
    compiled(torch.ones(2))
    time.sleep(0.05)
