"""Whether the content of a parameter changes, told from a sample of it.

RUNS IN the training process.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Callable, Iterable, Optional

import torch
from torch import Tensor

from zentracer.frameworks.pytorch.training.ratios import sample_of
from zentracer.frameworks.pytorch.training.readout import Readout

_SAMPLED = 64
"""Elements of a parameter that are compared: an update moves nearly all of them, or none."""


@dataclass
class Watched:
    """A parameter under suspicion."""

    parameter: weakref.ref[Tensor]
    start: Optional[Tensor]
    """What a sample of it held when it was suspected first."""
    count: int = 0
    """Steps in a row that speak against it."""
    reached: int = 0
    """Of these, those in which a backward pass led to it."""
    told: bool = False


def watched(parameter: Tensor) -> Watched:
    """Return ``parameter`` as it is now."""
    part = small_sample(parameter)
    return Watched(weakref.ref(parameter), part.clone() if part is not None else None)


def small_sample(parameter: Tensor) -> Optional[Tensor]:
    """Return at most 64 elements, a view where possible; None if they cannot be read."""
    part = sample_of(parameter)
    if part is None:
        return None
    return part[:: max(1, part.numel() // _SAMPLED)][:_SAMPLED]


def when_unchanged(
    readout: Readout,
    entries: Iterable[Watched],
    then: Callable[[list[Watched]], None],
    changed: Callable[[list[Watched]], None] = lambda _: None,
) -> None:
    """Hand those whose content is the same as at first to ``then``, now or once devices tell.

    The others are handed to ``changed``; those that cannot be read, to neither.
    """
    by_device: dict[torch.device, list[tuple[Watched, Tensor]]] = {}
    for entry in entries:
        parameter = entry.parameter()
        part = small_sample(parameter) if parameter is not None else None
        if part is None or entry.start is None or part.shape != entry.start.shape:
            continue
        moved = (part != entry.start).any()
        by_device.setdefault(part.device, []).append((entry, moved))
    for pairs in by_device.values():
        flags = torch.stack([moved for _, moved in pairs]).float()
        found = [entry for entry, _ in pairs]

        def arrived(numbers: list[float], found: list[Watched] = found) -> None:
            changed([entry for entry, moved in zip(found, numbers) if moved])
            then([entry for entry, moved in zip(found, numbers) if not moved])

        readout.read(flags, arrived)
