"""What optimisers remember of a parameter that is changed: kept, or forgotten with the change.

RUNS IN the training process, on the stopped thread.
"""

from __future__ import annotations

import types
import weakref
from typing import Any, Iterator

import torch
from torch import Tensor

from zentracer.control.pointed import Pointed
from zentracer.frameworks.pytorch.data.holders import Holder
from zentracer.frameworks.pytorch.patches import optimizers
from zentracer.frameworks.pytorch.patches.place import Place, place_of
from zentracer.frameworks.pytorch.patches.scalars import ScalarChange, Slot
from zentracer.frameworks.pytorch.patches.tensor_change import TensorChange
from zentracer.frameworks.pytorch.unseen import unseen
from zentracer.observe.kinds import TORCH, array_kind
from zentracer.patches.change import Change, Refused
from zentracer.watches import paths

_KEPT = "{} keeps its moments of it (reset_state clears them)"
_FORGOTTEN = "{} has forgotten its moments of it: {}"
_NO_STATE = "{} has no state of it yet"
_NO_OWNER = "no optimiser has it, so there is no state to forget"


class ChangeKeepingState(TensorChange):
    """A change after which optimisers go on with what they know."""

    def do(self) -> None:
        """Make the change, and say so."""
        frame = self._frame
        super().do()
        with unseen():
            self.notes = (*self.notes, *_kept(self._place.owner, frame))


class ChangeForgettingState(TensorChange):
    """A change to a parameter after which optimisers know nothing of what went before."""

    def __init__(
        self, place: Place, op: str, value: Any, text: str, frame: types.FrameType | None
    ) -> None:
        super().__init__(place, op, value, text, frame)
        self._rest: list[Change] = []

    def do(self) -> None:
        """Make the change, then let the state begin anew; all of it or nothing."""
        with unseen():
            rest, notes = _forgetting(self._place.owner)
        super().do()
        done: list[Change] = []
        try:
            for change in rest:
                change.do()
                done.append(change)
        except BaseException:
            _swapped(done)
            super().swap()
            raise
        self._rest = rest
        self.notes = (*self.notes, *notes)

    def is_current(self) -> bool:
        """Tell whether the elements and the state are as they were left."""
        return super().is_current() and all(one.is_current() for one in self._alive())

    def swap(self) -> None:
        """Exchange both, or neither."""
        super().swap()
        done: list[Change] = []
        try:
            for change in self._alive():
                change.swap()
                done.append(change)
        except BaseException:
            _swapped(done)
            super().swap()
            raise

    def _alive(self) -> list[Change]:
        return [one for one in self._rest if not one.is_gone]


def _kept(owner: Any, frame: types.FrameType | None) -> tuple[str, ...]:
    """Say which optimisers go on with what they remember of a parameter.

    Of those in reach of the running calls: looking for all takes longer than the change.
    """
    if not isinstance(owner, Tensor) or not owner.requires_grad or not owner.is_leaf:
        return ()
    owners = optimizers.holding(owner, optimizers.nearby(frame))
    names = dict.fromkeys(
        type(o).__name__
        for o in owners
        if any(array_kind(type(x)) and name != "step" for name, x in o.state.get(owner, {}).items())
    )
    return tuple(_KEPT.format(name) for name in names)


def _forgetting(parameter: Any) -> tuple[list[Change], list[str]]:
    """Return the changes after which no optimiser remembers ``parameter``, and what to say.

    Raises:
        Refused: the state of one cannot be told apart by parameter.
    """
    changes: list[Change] = []
    notes: list[str] = []
    owners = optimizers.holding(parameter, optimizers.live())
    for optimizer in owners:
        name = type(optimizer).__name__
        if isinstance(optimizer, torch.optim.LBFGS):
            raise Refused(f"{name} keeps one state for all its parameters; it cannot be reset.")
        state = optimizer.state.get(parameter) or {}
        made = list(_anew(optimizer, parameter, state))
        changes += [change for _, change in made]
        keys = ", ".join(str(key) for key, _ in made)
        notes.append(_FORGOTTEN.format(name, keys) if made else _NO_STATE.format(name))
    return changes, notes or [_NO_OWNER]


def _anew(optimizer: Any, parameter: Tensor, state: Any) -> Iterator[tuple[Any, Change]]:
    group = next(
        group
        for group in optimizers.groups_of(optimizer)
        if any(p is parameter for p in group["params"])
    )
    for key, value in state.items():
        first = _first(optimizer, group, key)
        label = f"the optimiser's {key}"
        if array_kind(type(value)) == TORCH:
            if value.numel():
                place = place_of(Pointed(label, [value], []))
                yield key, TensorChange(place, "fill", first, str(first), None)
        elif type(value) in (int, float):
            holder = Holder(state, [(paths.item, key)], _StateOf(optimizer, parameter))
            yield key, ScalarChange(label, [Slot(holder)], "set", type(value)(first), str(first))


def _first(optimizer: Any, group: Any, key: Any) -> float:
    """Return what a new state begins with, of the constructors and first steps of torch.optim."""
    if key == "mu_product" or (key == "mu" and isinstance(optimizer, torch.optim.ASGD)):
        return 1.0
    if key == "sum" and isinstance(optimizer, torch.optim.Adagrad):
        return float(group["initial_accumulator_value"])
    if (key == "step_size" and isinstance(optimizer, torch.optim.Rprop)) or (
        key == "eta" and isinstance(optimizer, torch.optim.ASGD)
    ):
        return float(group["lr"])
    return 0.0


class _StateOf:
    """Reads the state that an optimiser has of a parameter; keeps neither alive."""

    def __init__(self, optimizer: Any, parameter: Tensor) -> None:
        self._optimizer = weakref.ref(optimizer)
        self._parameter = weakref.ref(parameter)

    def __call__(self) -> Any:
        optimizer, parameter = self._optimizer(), self._parameter()
        if optimizer is None or parameter is None:
            return None
        return optimizer.state.get(parameter)


def _swapped(done: list[Change]) -> None:
    for change in reversed(done):
        change.swap()
