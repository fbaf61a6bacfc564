"""
place: a custom backward on a native thread, where autograd's engine runs it for an accelerator
stops: 2
condition: n == 2 -> 2
"""

import ctypes
import threading

import torch

done = threading.Event()


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        n = 2
        return grad * n  # <- breakpoint


w = torch.ones(2, requires_grad=True)
losses = [Scale.apply(w).sum() for _ in range(2)]


def native(_):
    for loss in losses:
        loss.backward()
    done.set()
    return 0


entry = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(native)
ctypes.CDLL(None).pthread_create(ctypes.byref(ctypes.c_ulong()), None, entry, None)
done.wait()
print(w.grad.tolist())
