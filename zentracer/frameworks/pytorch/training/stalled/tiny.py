"""Updates that are too small to change anything: below the resolution of the type, or of rate 0.

RUNS IN the training process.

A sample of each parameter is compared over twenty steps of its optimiser. Rounding to the nearest
moves the same few elements near zero again and again; stochastic rounding reaches others each time.
"""

from __future__ import annotations

import functools
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Optional

import torch
from torch import Tensor

from zentracer.frameworks.pytorch.finite import readable_tensor
from zentracer.frameworks.pytorch.training.builder import rate_of
from zentracer.frameworks.pytorch.training.events import Update
from zentracer.frameworks.pytorch.training.stalled.samples import small_sample

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.hub import Training

WINDOW = 20
"""Steps of an optimiser over which its parameters are compared."""
MOVED = 0.1
"""Share of the elements with a gradient that must have moved. Of weights drawn uniformly, a tenth
is within a tenth of the largest, where numbers lie ten times as dense."""
MOSTLY = 0.5
"""Share of an optimiser's elements that must be stuck. Some always are: the bias before a batch
norm has a gradient of rounding errors."""
FRESH = 200
"""In-place changes that parameters in wide types may have behind them: those of a training that has
converged are stuck, too."""
ZERO_RATE = 20
"""Steps in a row with a learning rate of 0 before that is told."""
_RISING = 1.01
"""Growth of the learning rate within a window that shows a warm-up: then the next one counts."""
_NARROW = frozenset({torch.float16, torch.bfloat16})


@dataclass
class Small:
    """What an optimiser does not move."""

    parameters: list[Tensor]
    rate: Optional[float]
    total: int
    """Parameters of the optimiser that get gradients."""
    share: float
    """Largest share of elements that moved."""


@dataclass
class _Seen:
    optimizer: weakref.ref[Any]
    steps: int = 0
    rate: Optional[float] = None
    """When the window began."""
    compared: bool = False
    """Whether its first window is over; who has moved then may well have come to rest later."""
    start: dict[int, tuple[weakref.ref[Tensor], Tensor]] = field(
        default_factory=lambda: dict[int, tuple[weakref.ref[Tensor], Tensor]]()
    )
    with_rate: bool = False
    """Whether its rate was above 0 once."""
    without: int = 0
    """Steps in a row with rate 0."""
    told_rate: bool = False


class Tiny:
    """Compares over windows; looks at the learning rate at each step."""

    def __init__(self, training: Training) -> None:
        self._training = training
        self._seen: dict[int, _Seen] = {}
        self._found: list[tuple[weakref.ref[Any], Small]] = []

    def starts(self, update: Update) -> None:
        """Take the samples of a window that begins."""
        seen = self._entry(update.optimizer)
        if not seen.compared and seen.steps % WINDOW == 0:
            seen.start, seen.rate = {}, rate_of(update.optimizer)
            for p in update.parameters:
                part = small_sample(p) if p.requires_grad else None
                if part is not None:
                    seen.start[id(p)] = (weakref.ref(p), part.clone())

    def ended(self, update: Update) -> Optional[Small]:
        """Return what did not move in a window that ends, now or in an earlier one."""
        seen = self._entry(update.optimizer)
        seen.steps += 1
        if seen.start and seen.steps % WINDOW == 0:
            start, seen.start = seen.start, {}
            rate = rate_of(update.optimizer)
            if rate is None or seen.rate is None or rate <= _RISING * seen.rate:
                seen.compared = True
                self._compare(update, start)
        for index, (ref, small) in enumerate(self._found):
            if ref() is update.optimizer:
                del self._found[index]
                return small
        return None

    def zero_rate(self, update: Update) -> Optional[int]:
        """Return for how many steps the rate has been 0, when that is to be told."""
        seen = self._entry(update.optimizer)
        rate = rate_of(update.optimizer)
        if rate is None or seen.told_rate:
            return None
        if rate != 0:
            seen.with_rate, seen.without = True, 0
            return None
        if any(isinstance(group.get("lr"), Tensor) for group in update.optimizer.param_groups):
            return None
        seen.without += 1
        scheduled = any("initial_lr" in group for group in update.optimizer.param_groups)
        limit = ZERO_RATE if seen.with_rate or not scheduled else 10 * ZERO_RATE
        if seen.without < limit:
            return None
        seen.told_rate = True
        return seen.without

    def forget(self) -> None:
        """Know nothing any more."""
        self._seen.clear()
        self._found.clear()

    def _entry(self, optimizer: Any) -> _Seen:
        seen = self._seen.get(id(optimizer))
        if seen is None or seen.optimizer() is not optimizer:
            seen = self._seen[id(optimizer)] = _Seen(weakref.ref(optimizer))
        return seen

    def _compare(
        self, update: Update, start: dict[int, tuple[weakref.ref[Tensor], Tensor]]
    ) -> None:
        """Count, for each parameter, the sampled elements with a gradient, and those that moved."""
        optimizer = weakref.ref(update.optimizer)
        groups: dict[torch.device, list[tuple[Tensor, Tensor]]] = {}
        for p in update.parameters:
            ref, before = start.get(id(p), (None, None))
            if ref is None or before is None or ref() is not p or p.grad is None:
                continue
            grad = small_sample(p.grad) if readable_tensor(p.grad) is not None else None
            now = small_sample(p)
            if grad is None or now is None or not (grad.shape == now.shape == before.shape):
                continue
            has = grad != 0
            counts = torch.stack([has.sum(), (has & (now != before)).sum()])
            groups.setdefault(p.device, []).append((p, counts))
        for pairs in groups.values():
            refs = [weakref.ref(p) for p, _ in pairs]
            numbers = torch.stack([counts for _, counts in pairs]).flatten().double()
            arrived = functools.partial(self._arrived, optimizer, refs)
            self._training.readout.read(numbers, arrived)

    def _arrived(
        self, optimizer: weakref.ref[Any], refs: list[weakref.ref[Tensor]], numbers: list[float]
    ) -> None:
        alive = [
            (p, numbers[2 * i : 2 * i + 2]) for i, r in enumerate(refs) if (p := r()) is not None
        ]
        alive = [(p, counts) for p, counts in alive if counts[0]]
        stuck = [(p, moved / has) for p, (has, moved) in alive if moved < MOVED * has and _tells(p)]
        total = sum(p.numel() for p, _ in alive)
        if not stuck or sum(p.numel() for p, _ in stuck) < MOSTLY * total:
            return
        rate = rate_of(optimizer(), stuck[0][0])
        if rate == 0:
            return  # told in words of its own
        share = max(share for _, share in stuck)
        self._found.append((optimizer, Small([p for p, _ in stuck], rate, len(alive), share)))


def _tells(parameter: Tensor) -> bool:
    """Tell whether it is news that a parameter does not move."""
    return parameter.dtype in _NARROW or parameter._version < FRESH
