"""Freezing parameters, and taking that back.

RUNS IN the training process, on the stopped thread.
"""

from __future__ import annotations

import types
import weakref
from typing import Any, Sequence

from torch import Tensor, nn

from zentracer.control.pointed import Pointed
from zentracer.frameworks.pytorch.live import held_by
from zentracer.frameworks.pytorch.modules import named_modules
from zentracer.frameworks.pytorch.patches import optimizers
from zentracer.frameworks.pytorch.patches.recomputed import refuse_if_pending
from zentracer.frameworks.pytorch.unseen import unseen
from zentracer.observe.stats import error_text
from zentracer.patches.change import Change, Refused

OPERATIONS = ("freeze", "unfreeze")
_STILL_MOVED = (
    "{} still {} a gradient, and {} moves it by that at its next step, unless zero_grad() drops it "
    "first"
)
_NOT_MOVED = "without a gradient {} leaves it alone, its momentum and weight decay too"
_DDP = (
    "`{}` was not changed: DistributedDataParallel has noted which parameters have gradients when "
    "it was built, and {}. Change requires_grad before it is built."
)


class Freezing(Change):
    """Sets ``requires_grad`` of what has another one.

    Args:
        target: how the user calls the parameter or module.
        parameters: all that it has.
        wanted: what ``requires_grad`` is to be.
        frame: where the program stands.
    """

    def __init__(
        self,
        target: str,
        parameters: Sequence[Tensor],
        *,
        wanted: bool,
        frame: types.FrameType | None,
    ) -> None:
        self.target = target
        self.text = "unfrozen" if wanted else "frozen"
        self._wanted, self._of = wanted, len(parameters)
        self._changed = [weakref.ref(p) for p in parameters if p.requires_grad is not wanted]
        self._frame = frame

    @property
    def is_gone(self) -> bool:
        """Whether none of them is alive."""
        return not self._alive()

    def do(self) -> None:
        """Set it on those that have another one."""
        parameters = self._alive()
        frame, self._frame = self._frame, None
        if not parameters:
            raise Refused(f"`{self.target}` is {self.text} already.")
        with unseen():
            refuse_if_pending(self.target)
            found = optimizers.live()
        _refuse_if_replicated(self.target, parameters, wanted=self._wanted)
        self.notes = self._notes(parameters, found)
        self.code = f"{self.in_code}.requires_grad_({self._wanted})"
        self._set(parameters, self._wanted)
        self.old, self.new = self._state(not self._wanted), self._state(self._wanted)
        del frame

    def is_current(self) -> bool:
        """Tell whether all have what was left."""
        return all(p.requires_grad is self._wanted for p in self._alive())

    def overlaps(self, other: Change) -> bool:
        """Tell whether another has changed one of these."""
        if not isinstance(other, Freezing):
            return False
        mine = set(map(id, self._alive()))
        return any(id(p) in mine for p in other._alive())

    def swap(self) -> None:
        """Set the opposite on those that were changed."""
        parameters = self._alive()
        with unseen():
            refuse_if_pending(self.target)
        _refuse_if_replicated(self.target, parameters, wanted=not self._wanted)
        self._set(parameters, not self._wanted)
        self._wanted = not self._wanted

    def _alive(self) -> list[Tensor]:
        return [p for reference in self._changed if (p := reference()) is not None]

    def _set(self, parameters: Sequence[Tensor], wanted: bool) -> None:
        done: list[Tensor] = []
        try:
            with unseen():
                for parameter in parameters:
                    parameter.requires_grad_(wanted)
                    done.append(parameter)
        except RuntimeError as error:
            for parameter in done:
                parameter.requires_grad_(not wanted)
            raise Refused(f"`{self.target}` was not changed: {error_text(error)}") from None

    def _state(self, requires: bool) -> str:
        few = f" of {len(self._changed)} of {self._of} parameters" if self._of > 1 else ""
        return f"requires_grad={requires}{few}"

    def _notes(self, parameters: Sequence[Tensor], found: list[Any]) -> tuple[str, ...]:
        owners = {type(o).__name__: None for p in parameters for o in optimizers.holding(p, found)}
        names = " and ".join(owners)
        if self._wanted:
            first = "it takes part from the next forward pass on"
            return (first,) if owners else (first, "no optimiser has it: it will not be trained")
        if not owners:
            return ()
        kept = sum(p.grad is not None for p in parameters)
        if kept:
            what = "it" if self._of == 1 else f"{kept} of its parameters"
            return (_STILL_MOVED.format(what, "has" if kept == 1 else "have", names),)
        return (_NOT_MOVED.format(names),)


def freezing(pointed: Pointed, op: str, more: Sequence[Any], frame: Any) -> Change:
    """Return the change of ``requires_grad`` of a parameter, or of all that a module has.

    Raises:
        Refused: there is nothing in it whose gradient can be turned on or off.
    """
    value, label = pointed.value, pointed.label
    if more or not isinstance(value, (Tensor, nn.Module)):
        raise Refused(f"`{label}` is no parameter and no module; only those can be frozen.")
    parameters = [value] if isinstance(value, Tensor) else _parameters(value)
    pointed.release()
    wanted = op == "unfreeze"
    if not parameters:
        raise Refused(f"`{label}` has no parameters.")
    for parameter in parameters:
        _refuse_if_unfit(parameter, label, wanted=wanted)
    return Freezing(label, parameters, wanted=wanted, frame=frame)


def _parameters(module: nn.Module) -> list[Tensor]:
    """Return each parameter once."""
    found = {
        id(parameter): parameter
        for _, one in named_modules(module)
        for _, parameter in held_by(one, "_parameters")
        if parameter is not None
    }
    return list(found.values())


def _refuse_if_unfit(x: Tensor, label: str, *, wanted: bool) -> None:
    if not x.is_leaf:
        raise Refused(
            f"`{label}` is computed from other tensors: its gradient cannot be turned on or off."
        )
    if wanted and not (x.is_floating_point() or x.is_complex()):
        name = str(x.dtype).rpartition(".")[2]
        raise Refused(f"`{label}` holds {name}: only floating-point numbers have gradients.")


def _refuse_if_replicated(label: str, parameters: Sequence[Tensor], *, wanted: bool) -> None:
    """Refuse what would make replicas wait for each other, or drift apart."""
    mine = set(map(id, parameters))
    for model in optimizers.instances_of(nn.parallel.DistributedDataParallel):
        if not any(id(p) in mine for p in _parameters(model)):
            continue
        if wanted:
            raise Refused(_DDP.format(label, "would not share the gradient of this between ranks"))
        if not model.find_unused_parameters or model.static_graph:
            raise Refused(_DDP.format(label, "waits for that of each in every backward pass"))
