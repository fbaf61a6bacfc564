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
_LIMIT = 4096
"""Numbers under way: those of some steps of a large model."""


class Readout:
    """What is under way from devices."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._waiting: deque[tuple[Tensor, torch.cuda.Event | None, Then]] = deque()
        self.dropped = 0

    @property
    def is_waiting(self) -> bool:
        """Whether anything is under way."""
        return bool(self._waiting)

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
        arrived.record(torch.cuda.current_stream(numbers.device))
        self._waiting.append((host, arrived, then))

    def poll(self) -> None:
        """Hand over what has arrived; one that fails does not keep the others."""
        failure: Exception | None = None
        while self._waiting:
            numbers, arrived, then = self._waiting[0]
            if arrived is not None and not arrived.query():
                break
            self._waiting.popleft()
            try:
                then(numbers.tolist())
            except Exception as error:
                failure = error
        if failure is not None:
            raise failure

    def forget(self) -> None:
        """Drop what is under way."""
        self._waiting.clear()
