"""Parameters that get gradients but belong to no optimiser.

RUNS IN the training process.

Manual updates and optimisers of the user's own are fine: who changes learns. So are modules in
evaluation mode (a fixed judge, a teacher), and a few parameters chosen out of many.
"""

from __future__ import annotations

import gc
import types
import weakref
from typing import TYPE_CHECKING, Any, Callable

import torch
from torch import Tensor, nn

from zentracer.frameworks.pytorch.report import Finding
from zentracer.frameworks.pytorch.training.events import Backward, Update, parameters_of
from zentracer.frameworks.pytorch.training.stalled.records import Records
from zentracer.frameworks.pytorch.training.stalled.samples import (
    Watched,
    watched,
    when_unchanged,
)
from zentracer.frameworks.pytorch.training.stalled.unowned_case import STEPS, Case

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.hub import Training

_MAX_ASKED = 10_000
Report = Callable[[Finding, types.FrameType], None]


class Unowned:
    """Looks for them in the first steps, after changes, and now and then."""

    def __init__(self, training: Training, records: Records, report: Report) -> None:
        self._training = training
        self._records = records
        self._report = report
        self._suspects: dict[int, Watched] = {}
        self._fine: dict[int, weakref.ref[Tensor]] = {}
        """Those that change, or whose owner is known not to step often."""
        self._reached: dict[int, weakref.ref[Tensor]] = {}
        self._found: list[weakref.ref[Any]] = []
        """Optimisers that were looked up among all objects."""
        self._asked_plain: dict[int, weakref.ref[Tensor]] = {}
        """What gradients were asked for by name: a coordinate, an input."""
        self._ready: list[Watched] = []
        """Unchanged, told by their device, not yet reported."""

    def backward_ended(self, run: Backward) -> None:
        """Note what got a gradient."""
        if not run.accumulates or run.inputs:
            if len(self._asked_plain) >= _MAX_ASKED:
                self._asked_plain.clear()
            for asked in run.inputs:
                if isinstance(asked, Tensor):
                    self._asked_plain[id(asked)] = weakref.ref(asked)
            return
        for leaf in run.leaves:
            if leaf.requires_grad and leaf.grad is not None:
                self._reached[id(leaf)] = weakref.ref(leaf)

    def skip(self) -> None:
        """Forget what was reached: this step is not looked at."""
        self._reached.clear()

    def stepped(self, update: Update) -> None:
        """A training step is complete."""
        reached, self._reached = self._reached, {}
        owned = {id(p) for optimizer in self._owners(update) for p in parameters_of(optimizer)}
        alive = {i: leaf for i, ref in reached.items() if (leaf := ref()) is not None}
        loose = {i: leaf for i, leaf in alive.items() if i not in owned and self._may_be(leaf)}
        for identity in self._suspects.keys() - loose.keys():
            del self._suspects[identity]
        for identity, leaf in loose.items():
            entry = self._suspects.get(identity)
            if entry is None or entry.parameter() is not leaf:
                entry = self._suspects[identity] = watched(leaf)
            entry.count += 1
        due = [e for e in self._suspects.values() if e.count >= STEPS and not e.told]
        is_news = any(e.count == STEPS for e in due)  # looking up is slow: once for each
        if is_news and self._look_up_owners(update):
            owned = {id(p) for o in self._owners(update) for p in parameters_of(o)}
            due = [e for e in due if id(e.parameter()) not in owned]
        if due:
            when_unchanged(self._training.readout, due, self._unchanged, self._changed)
        if self._ready and update.frame is not None:
            ready, self._ready = self._ready, []
            Case(self, update, update.frame, ready, alive, owned).tell()

    # -- inside --------------------------------------------------------------------------------

    @property
    def training(self) -> Training:
        """Whose parameters these are."""
        return self._training

    @property
    def records(self) -> Records:
        """Lines that were noted."""
        return self._records

    @property
    def report(self) -> Report:
        """Who is told."""
        return self._report

    def _unchanged(self, entries: list[Watched]) -> None:
        for entry in entries:
            if not entry.told:  # several questions may be on their way to a device
                entry.told = True
                self._ready.append(entry)

    def _changed(self, entries: list[Watched]) -> None:
        """Leave those alone that change: somebody updates them."""
        for entry in entries:
            parameter = entry.parameter()
            if parameter is not None:
                self._fine[id(parameter)] = entry.parameter
                self._suspects.pop(id(parameter), None)

    def _may_be(self, leaf: Tensor) -> bool:
        fine = self._fine.get(id(leaf))
        if fine is not None and fine() is leaf:
            return False
        if getattr(leaf, "_is_flat_param", False) or not leaf.is_floating_point():
            return False
        if isinstance(leaf, nn.Parameter):
            return True
        asked = self._asked_plain.get(id(leaf))
        return self._owns_plain and not (asked is not None and asked() is leaf)

    def _owners(self, update: Update) -> list[Any]:
        found = [*self._records.optimizers(), *(r() for r in self._found), update.optimizer]
        unique = {id(optimizer): optimizer for optimizer in found if optimizer is not None}
        return [o for o in unique.values() if getattr(o, "param_groups", None) is not None]

    @property
    def _owns_plain(self) -> bool:
        """Whether tensors that are no ``nn.Parameter`` are trained in this program."""
        found = [*self._records.optimizers(), *(r() for r in self._found)]
        return any(type(p) is Tensor for o in found if o is not None for p in parameters_of(o))

    def _look_up_owners(self, update: Update) -> bool:
        """Find optimisers that were made before, or not by their class; tell if there are more."""
        known = {id(optimizer) for optimizer in self._owners(update)}
        new = [
            thing
            for thing in gc.get_objects()
            if issubclass(type(thing), torch.optim.Optimizer) and id(thing) not in known
        ]
        self._found += [weakref.ref(optimizer) for optimizer in new]
        return bool(new)
