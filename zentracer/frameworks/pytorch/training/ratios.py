"""How far an update moves parameters, against their own size.

RUNS IN the training process, only while somebody asks: the norm of an update over the norm of the
parameter, both over the same sample of at most 1024 elements spread through the tensor.
"""

from __future__ import annotations

import functools
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Callable, List, Optional, Sequence

import torch
from torch import Tensor

from zentracer.frameworks.pytorch.finite import readable_tensor

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.events import Update
    from zentracer.frameworks.pytorch.training.readout import Readout

SAMPLED = 1024
"""Elements of one parameter that are compared: a norm over them is within a few percent of the
whole one's for weights of similar size."""


@dataclass(frozen=True)
class Change:
    """What one update did to one parameter."""

    parameter: weakref.ref[Tensor]
    update: float
    """Norm of the sampled elements' change."""
    norm: float
    """Norm of the sampled elements before it."""

    @property
    def ratio(self) -> Optional[float]:
        """``update / norm``; 0 if nothing moved, None where the parameter was zero."""
        if self.update == 0:
            return 0.0
        return self.update / self.norm if self.norm else None


Then = Callable[[List[Change]], None]


@dataclass
class _Batch:
    """Samples of the parameters of one device, one after another."""

    parameters: list[weakref.ref[Tensor]]
    sizes: list[int]
    values: Tensor


@dataclass
class _Measurement:
    """Of one update."""

    update: weakref.ref[Update]
    batches: list[_Batch]
    waiting: list[Then] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    missing: int = 0
    """Devices whose numbers have not arrived."""
    is_taken: bool = False


class Ratios:
    """Measurements of the updates that somebody asks for, each made once for all who ask."""

    def __init__(self, readout: Readout) -> None:
        self._readout = readout
        self._current: dict[int, _Measurement] = {}
        """By optimiser, from the beginning of its step to that of the next measured one."""
        self._last: dict[int, Change] = {}

    def starts(self, update: Update) -> None:
        """Note where the parameters are: ask for this in ``update_starts``."""
        known = self._current.get(id(update.optimizer))
        if known is None or known.update() is not update:
            batches = _samples(update.parameters)
            self._current[id(update.optimizer)] = _Measurement(weakref.ref(update), batches)

    def ended(self, update: Update, then: Then) -> None:
        """Hand over how far each parameter went, now or once its device has told.

        Ask for this in ``update_ended``, if ``starts`` was asked for before.
        """
        measurement = self._current.get(id(update.optimizer))
        if measurement is None or measurement.update() is not update:
            return
        measurement.waiting.append(then)
        if not measurement.is_taken:
            measurement.is_taken = True
            self._take(measurement)
        elif not measurement.missing:
            self._hand_over(measurement)

    def ratio_of(self, parameter: Tensor) -> Optional[float]:
        """Return the ratio of the last update that was measured; None if there was none."""
        change = self._last.get(id(parameter))
        return change.ratio if change is not None and change.parameter() is parameter else None

    def forget(self) -> None:
        """Know nothing any more."""
        self._current.clear()
        self._last.clear()

    def _take(self, measurement: _Measurement) -> None:
        batches, measurement.batches = measurement.batches, []
        measurement.missing = len(batches)
        if not batches:
            self._hand_over(measurement)
        for batch in batches:
            parts = [_now(ref()) for ref in batch.parameters]
            if [x.numel() for x in parts] != batch.sizes:
                self._arrived(measurement, [], [])  # replaced by something else meanwhile
                continue
            difference = torch.cat(parts) - batch.values
            moved = _norms(difference.split(batch.sizes))
            norms = _norms(batch.values.split(batch.sizes))
            arrive = functools.partial(self._arrived, measurement, batch.parameters)
            self._readout.read(torch.stack([*moved, *norms]), arrive)

    def _arrived(
        self, measurement: _Measurement, refs: list[weakref.ref[Tensor]], numbers: list[float]
    ) -> None:
        count = len(refs)
        for ref, moved, norm in zip(refs, numbers[:count], numbers[count:]):
            parameter = ref()
            if parameter is not None:
                change = self._last[id(parameter)] = Change(ref, moved, norm)
                measurement.changes.append(change)
        measurement.missing -= 1
        if not measurement.missing:
            self._hand_over(measurement)

    def _hand_over(self, measurement: _Measurement) -> None:
        waiting, measurement.waiting = measurement.waiting, []
        for then in waiting:
            then(measurement.changes)


def sample_of(x: Tensor) -> Tensor | None:
    """Return at most 1024 elements spread through ``x``, a view where possible; None if unread."""
    plain = readable_tensor(x)
    if plain is None or plain.is_complex() or not plain.untyped_storage().size():
        return None  # (a sharded parameter that is not gathered has no storage)
    plain = plain.detach()
    # Odd, so that it does not run down one column of a matrix.
    step = (plain.numel() // SAMPLED) | 1 if plain.numel() > SAMPLED else 1
    if plain.is_contiguous():
        return plain.view(-1)[::step][:SAMPLED]
    return plain.permute(_by_stride(plain)).reshape(-1)[::step][:SAMPLED]


def _now(parameter: Tensor | None) -> Tensor:
    part = sample_of(parameter) if parameter is not None else None
    return part if part is not None else torch.empty(0)


def _norms(parts: Sequence[Tensor]) -> list[Tensor]:
    return list(torch._foreach_norm(list(parts)))  # pyright: ignore[reportPrivateImportUsage]


def _by_stride(x: Tensor) -> list[int]:
    """Return the dimensions from the outermost in memory, so that channels_last needs no copy."""
    return sorted(range(x.dim()), key=lambda d: -x.stride(d))


def _samples(parameters: list[Tensor]) -> list[_Batch]:
    by_device: dict[torch.device, list[tuple[Tensor, Tensor]]] = {}
    for parameter in parameters:
        part = sample_of(parameter)
        if part is not None:
            by_device.setdefault(part.device, []).append((parameter, part))
    return [
        _Batch(
            parameters=[weakref.ref(parameter) for parameter, _ in pairs],
            sizes=[part.numel() for _, part in pairs],
            values=torch.cat([part for _, part in pairs]),
        )
        for pairs in by_device.values()
    ]
