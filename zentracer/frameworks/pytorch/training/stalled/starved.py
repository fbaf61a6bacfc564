"""Owned, trainable parameters that no gradient comes to.

RUNS IN the training process.

A parameter without a gradient is nothing unusual: an expert that is not chosen, an output that
nobody uses. It is told only where a line is to blame: the graph is cut between the module's call
and the loss, gradients are reset before the step, or the module is never called.
"""

from __future__ import annotations

import types
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Optional

import torch
from torch import Tensor, nn

from zentracer.control.cuts import has_zero_gradient
from zentracer.control.flow import Cut
from zentracer.frameworks.pytorch.finite import readable_tensor, tensors_in
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.training.events import Backward, Update
from zentracer.frameworks.pytorch.training.stalled.cutting import (
    Sinks,
    cut_after,
    is_meant,
    sinks_of,
)
from zentracer.frameworks.pytorch.training.stalled.samples import (
    Watched,
    small_sample,
    watched,
    when_unchanged,
)

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.hub import Training

STEPS = 3
"""Steps in a row without a gradient before a module is looked at, and as many while it is."""
NEVER = 20
"""Steps without any call before a module is said to be never called; a schedule that switches
parts of a model on mostly does so between epochs, and is not told where it reads as one."""
_FIRST = 6
_ROUND, _IN_ROUND = 16, 4
"""After the first steps, four out of sixteen are looked at."""
_MAX_FOLLOWED = 100
"""Modules whose calls are followed through the source, at some milliseconds each."""
_ZERO_ROUND = 64
_ZERO_AT = (2, 3, 4)
"""In which steps of 64 gradients are compared with zero."""


@dataclass
class Silent:
    """A module whose parameters get no gradient."""

    module: weakref.ref[nn.Module]
    attribute: str
    parameters: list[weakref.ref[Tensor]]
    zero: bool
    """Whether they get gradients, of zero."""
    reset: bool
    """Whether backward does lead to them."""
    since: int
    """Training steps when it was suspected."""
    calls: int = 0
    """Calls with gradients enabled."""
    steps: int = 0
    """Steps with such calls."""
    last: int = -1
    is_followed: bool = False
    cut: Optional[Cut] = None
    told: bool = False
    without_grad: int = field(default=0)
    """Calls under ``no_grad``."""


class Starved:
    """Follows those of one armed state; who listens is asked for each finding."""

    def __init__(self, training: Training, ask_about: Callable[[nn.Module], None]) -> None:
        self._training = training
        self._ask_about = ask_about
        self._missing: dict[int, Watched] = {}
        self._zero: dict[int, Watched] = {}
        self._silent: dict[int, Silent] = {}
        """By module."""
        self._steps: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._reached: set[int] = set()
        self._sinks: Sinks = {}
        self._count = 0
        self._followed = 0
        self._pending: set[int] = set()
        """Without a gradient when the optimiser began its step."""
        self.unchanged: list[tuple[Silent, list[Tensor]]] = []
        """To be told."""

    def looks(self, module: nn.Module) -> bool:
        """Tell whether calls of ``module`` are asked for."""
        entry = self._silent.get(id(module))
        return entry is not None and entry.module() is module and not entry.told

    def backward_starts(self, run: Backward) -> None:
        """Note where backward starts, if something has to be followed to there."""
        if self._silent and run.accumulates and run.frame is not None:
            self._sinks = sinks_of(run.frame)

    def backward_ended(self, run: Backward) -> None:
        """Note what backward led to."""
        if run.accumulates and (self._missing or self._zero or self._count < STEPS):
            self._reached.update([id(leaf) for leaf in run.leaves if leaf.grad is not None])

    def update_starts(self, update: Update) -> None:
        """See who has no gradient."""
        self._pending = set()
        if self._looks_at(update):
            self._pending = {id(p) for p in update.parameters if p.requires_grad and p.grad is None}

    def update_ended(self, update: Update) -> None:
        """An optimiser has stepped: count who still has none; then decide."""
        number = self._number(update)
        if self._looks_at(update):
            self._count_missing(update)
        if number % _ZERO_ROUND in _ZERO_AT:
            self._measure(update)
        self._steps[id(update.optimizer)] = (weakref.ref(update.optimizer), number + 1)
        if update.is_step:
            self._count += 1
            self._close_step(update.frame)
            self._reached.clear()

    def saw(self, module: nn.Module, out: Any, frame: types.FrameType) -> None:
        """A silent module was called."""
        entry = self._silent.get(id(module))
        if entry is None or entry.module() is not module:
            return
        if not self._training.with_gradients and not module.training:
            return  # an evaluation
        if entry.last != self._count:
            entry.last = self._count
            entry.steps += 1
        entry.calls += 1
        if not self._training.with_gradients or not _needs_grad(out):
            entry.without_grad += 1
        user = user_frame(frame)
        if entry.calls == 1:
            self._followed += 1
            entry.is_followed = self._followed > _MAX_FOLLOWED
        if self._sinks and not entry.is_followed and user is not None:
            entry.is_followed = entry.calls >= STEPS
            entry.cut = entry.cut or cut_after(module, entry.attribute, user, self._sinks)
            entry.is_followed = entry.is_followed or entry.cut is not None

    def never(self) -> list[Silent]:
        """Return those that were not called since they are looked at; each once."""
        found: list[Silent] = []
        for entry in self._silent.values():
            idle = not (entry.told or entry.calls or entry.zero or entry.reset)
            if idle and self._count - entry.since >= NEVER - STEPS:
                entry.told = True
                found.append(entry)
        return found

    def is_silent(self, module: nn.Module) -> bool:
        """Tell whether ``module`` gets no gradient and was not called."""
        entry = self._silent.get(id(module))
        return entry is not None and entry.module() is module and not entry.calls

    def forget(self) -> None:
        """Know nothing any more."""
        for table in (self._missing, self._zero, self._silent, self._steps):
            table.clear()
        self._reached.clear()
        self.unchanged.clear()

    # -- inside --------------------------------------------------------------------------------

    def _number(self, update: Update) -> int:
        ref, number = self._steps.get(id(update.optimizer), (None, 0))
        return number if ref is not None and ref() is update.optimizer else 0

    def _looks_at(self, update: Update) -> bool:
        number = self._number(update)
        return number < _FIRST or number % _ROUND < _IN_ROUND or bool(self._silent)

    def _count_missing(self, update: Update) -> None:
        for p in update.parameters:
            identity = id(p)
            if p.grad is not None or not p.requires_grad or identity not in self._pending:
                self._missing.pop(identity, None)
                continue
            self._add(self._missing, p)

    def _add(self, table: dict[int, Watched], parameter: Tensor) -> None:
        entry = table.get(id(parameter))
        if entry is None or entry.parameter() is not parameter:
            entry = table[id(parameter)] = watched(parameter)
        entry.count += 1
        entry.reached += id(parameter) in self._reached

    def _measure(self, update: Update) -> None:
        """Find the gradients that are zero all over."""
        with_grad = [
            p
            for p in update.parameters
            if p.requires_grad and p.grad is not None and type(p.grad) is Tensor
            and not p.grad.is_sparse and readable_tensor(p.grad) is not None
        ]  # fmt: skip
        groups: dict[Any, list[Tensor]] = {}
        for p in with_grad:
            if not self._training.watch.defers(p) and _shows_gradient(p):
                self._zero.pop(id(p), None)
                continue
            groups.setdefault((p.device, p.dtype), []).append(p)
        for found in groups.values():
            largest = torch._foreach_norm([p.grad for p in found], torch.inf)  # pyright: ignore
            refs = [weakref.ref(p) for p in found]

            def arrived(numbers: list[float], refs: list[Any] = refs) -> None:
                for ref, number in zip(refs, numbers):
                    parameter = ref()
                    if parameter is None:
                        continue
                    if number:
                        self._zero.pop(id(parameter), None)
                    else:
                        self._add(self._zero, parameter)

            self._training.readout.read(torch.stack(list(largest)).float(), arrived)

    def _close_step(self, frame: types.FrameType | None) -> None:
        for table, zero in ((self._missing, False), (self._zero, True)):
            due = [e for e in table.values() if e.count >= STEPS and not e.told]
            if due:
                self._suspect(due, zero, frame)
        for entry in list(self._silent.values()):
            if not entry.told and self._is_due(entry):
                self._check(entry)

    def _is_due(self, entry: Silent) -> bool:
        steps = self._count - entry.since
        if entry.reset:
            return steps >= 1
        return entry.cut is not None and entry.steps >= STEPS

    def _suspect(self, due: list[Watched], zero: bool, frame: types.FrameType | None) -> None:
        """Have the modules of these parameters looked at."""
        for watched_one in due:
            parameter = watched_one.parameter()
            watched_one.told = True
            named = self._training.names.of(parameter, frame) if parameter is not None else None
            module = named.module() if named is not None else None
            if parameter is None or named is None or module is None:
                continue
            entry = self._silent.get(id(module))
            if entry is None or entry.module() is not module:
                entry = self._silent[id(module)] = Silent(
                    weakref.ref(module), named.attribute, [], zero,
                    watched_one.reached >= STEPS and not zero, self._count,
                )  # fmt: skip
                self._ask_about(module)
            entry.parameters.append(watched_one.parameter)

    def _check(self, entry: Silent) -> None:
        """See whether the parameters are still without a gradient and unchanged; then tell."""
        table = self._zero if entry.zero else self._missing
        entries = [table[i] for ref in entry.parameters if (i := id(ref())) in table]
        if not entries:
            self._silent.pop(id(entry.module()), None)
            return
        entry.told = True
        if entry.cut is not None and (is_meant(entry.cut) or self._is_a_zero(entry)):
            return

        def tell(unchanged: list[Watched]) -> None:
            found = [p for e in unchanged if (p := e.parameter()) is not None]
            if found:
                self.unchanged.append((entry, found))

        if entry.zero:  # weight decay may well move them
            tell(entries)
        else:
            when_unchanged(self._training.readout, entries, tell)

    def _is_a_zero(self, entry: Silent) -> bool:
        """Tell whether gradients of zero come from elsewhere than from this cut."""
        return entry.zero and entry.cut is not None and not has_zero_gradient(entry.cut.op)


def _shows_gradient(parameter: Tensor) -> bool:
    """Tell whether a few elements of the gradient already show that it is not zero all over."""
    part = small_sample(parameter.grad) if parameter.grad is not None else None
    return part is not None and bool(part.any())


def _needs_grad(out: Any) -> bool:
    return any(x.requires_grad for x in tensors_in(out))
