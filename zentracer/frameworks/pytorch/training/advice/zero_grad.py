"""``missing_zero_grad``: every step uses the sum of all gradients so far.

RUNS IN the training process. What counts is the state of the gradients, not which calls were seen:
they may be reset in many ways. Of each optimiser one gradient is looked at.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from zentracer.frameworks.pytorch.finite import readable_tensor
from zentracer.frameworks.pytorch.training.advice.adviser import Adviser, Rule
from zentracer.frameworks.pytorch.training.events import Backward, Update
from zentracer.wire.messages import Suggestion

RULE = Rule("missing_zero_grad", "Gradients are never reset")
_IN_A_ROW = 3
"""Steps in a row that used what was left from the step before. Programs that accumulate reset
after the step; those that reset every second or fourth step anyway are left alone."""
_SAMPLE = 4096
"""Elements of a gradient that are read to tell whether it was filled with zeros."""


@dataclass
class _Seen:
    """The gradient of one optimiser that is looked at."""

    parameter: weakref.ref[Tensor]
    gradient: weakref.ref[Tensor]
    """As it was when the optimiser had stepped."""
    version: int
    """Its count of changes then, or after a backward pass that added to it."""
    was_reset: bool = False
    """Whether it was reset, or changed by the program, since the step."""
    holds_old: bool = False
    """Whether backward starts while it still holds what the step used."""
    was_added_to: bool = False
    carried: int = 0
    """Steps in a row that used what the step before had used."""


class MissingReset(Adviser):
    """Looks whether gradients are reset between a step and the next."""

    filter = RULE.filter

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._seen: weakref.WeakKeyDictionary[Any, _Seen] = weakref.WeakKeyDictionary()

    def close(self) -> None:
        """Forget the gradients."""
        self._seen.clear()

    def backward_starts(self, run: Backward) -> None:
        """Does a gradient still hold what was used?"""
        if not run.accumulates:
            return
        for seen in self._seen.values():
            if not seen.was_reset:
                self._compare(seen)

    def backward_ended(self, run: Backward) -> None:
        """Was it added to?"""
        for optimizer, seen in list(self._seen.items()):
            gradient = seen.gradient()
            if not seen.holds_old or gradient is None:
                continue
            seen.holds_old = False
            if gradient._version == seen.version:
                continue  # this loss does not concern it
            seen.version = gradient._version
            seen.was_added_to = True
            if seen.carried >= _IN_A_ROW and not seen.was_reset and run.frame is not None:
                self._tell(optimizer, seen, run)

    def update_starts(self, update: Update) -> None:
        """Does this step use what the one before had used?"""
        seen = self._seen.get(update.optimizer)
        if seen is not None:
            carried = seen.was_added_to and not seen.was_reset
            seen.carried = seen.carried + 1 if carried else 0

    def update_ended(self, update: Update) -> None:
        """Note the gradient that the step used."""
        known = self._seen.get(update.optimizer)
        parameter = known.parameter() if known is not None else None
        if parameter is None or not _is_plain(parameter.grad):
            parameter = next((p for p in update.parameters if _is_plain(p.grad)), None)
        if parameter is None or parameter.grad is None:
            self._seen.pop(update.optimizer, None)
            return
        seen = _Seen(weakref.ref(parameter), weakref.ref(parameter.grad), parameter.grad._version)
        seen.carried = known.carried if known is not None else 0
        self._seen[update.optimizer] = seen

    def _compare(self, seen: _Seen) -> None:
        parameter = seen.parameter()
        gradient = parameter.grad if parameter is not None else None
        if (
            gradient is None
            or gradient is not seen.gradient()
            or gradient._version != seen.version
            or not _is_plain(gradient)
        ):
            seen.was_reset = True
            return
        seen.holds_old = True

        def then(numbers: list[float]) -> None:
            seen.was_reset = seen.was_reset or numbers[0] == 0  # p.grad.data.zero_()

        self.training.readout.read(gradient.reshape(-1)[:_SAMPLE].abs().max().reshape(1), then)

    def _tell(self, optimizer: Any, seen: _Seen, run: Backward) -> None:
        parameter = seen.parameter()
        name = self.training.names.of(parameter, run.frame) if parameter is not None else None
        what = name.name if name is not None else "a parameter"
        kind = type(optimizer).__name__
        assert run.frame is not None
        self.tell(
            RULE,
            run.frame,
            f"the gradient of {what} still held what {kind}.step used, and backward added to it, "
            f"{seen.carried + 1} times in a row: each step uses the sum of all gradients so far",
            op="backward",
            phase="backward",
            suggestions=(
                Suggestion(
                    title="call optimizer.zero_grad() before each backward",
                    why="backward adds to .grad. To accumulate over several batches on purpose, "
                    "reset right after each step.",
                ),
            ),
        )


def _is_plain(gradient: Any) -> bool:
    return gradient is not None and readable_tensor(gradient) is gradient and gradient.numel() > 0
