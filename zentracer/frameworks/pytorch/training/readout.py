"""Numbers computed on a device, read without waiting for it.

RUNS IN the training process. On the CPU a number is there at once. On an accelerator it is copied
while the device goes on, and handed over at the next event of the training that finds it ready.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Callable, List

import torch
from torch import Tensor

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.watch import Watch

Then = Callable[[List[float]], None]
_LIMIT = 64


class Readout:
    """What is under way from devices."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._waiting: deque[tuple[Tensor, torch.cuda.Event | None, Then]] = deque()
        self.dropped = 0

    def read(self, numbers: Tensor, then: Then) -> None:
        """Hand the elements of the vector ``numbers`` to ``then``, now or later."""
        if not self._watch.defers(numbers):
            then(numbers.tolist())
            return
        if numbers.is_cuda and torch.cuda.is_current_stream_capturing():
            return
        if len(self._waiting) >= _LIMIT:
            self._waiting.popleft()
            self.dropped += 1
        if not numbers.is_cuda:
            self._waiting.append((numbers.clone(), None, then))
            return
        host = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=True)
        host.copy_(numbers, non_blocking=True)
        arrived = torch.cuda.Event()
        arrived.record()
        self._waiting.append((host, arrived, then))

    def poll(self) -> None:
        """Hand over what has arrived."""
        while self._waiting:
            numbers, arrived, then = self._waiting[0]
            if arrived is not None and not arrived.query():
                return
            self._waiting.popleft()
            then(numbers.tolist())

    def forget(self) -> None:
        """Drop what is under way."""
        self._waiting.clear()
