"""A change to the numbers of a tensor or array.

RUNS IN the training process, on the stopped thread or at a safe point.
"""

from __future__ import annotations

import sys
import types
from typing import Any

import torch
from torch import Tensor

from zentracer.frameworks.pytorch.data.sharing import names_sharing
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.patches.operands import values_note
from zentracer.frameworks.pytorch.patches.operations import OPERATIONS, Computed
from zentracer.frameworks.pytorch.patches.place import Place
from zentracer.frameworks.pytorch.patches.saved import needed_by
from zentracer.frameworks.pytorch.unseen import unseen
from zentracer.observe.stats import error_text, stats
from zentracer.patches.change import Change, Refused
from zentracer.patches.several import Several

_MAX_NAMES = 3
_FEW = 4
"""Elements that are shown one by one."""
_NEEDED = (
    "`{}` is needed to compute the gradient of {}, and backward would fail if it changed now. "
    "Change it after the backward pass: at the optimiser's step, or before the next forward."
)


class TensorChange(Change):
    """Sets, scales, adds to … the elements of one place.

    Args:
        place: which elements.
        op: one of ``OPERATIONS``.
        value: the operand.
        text: how the user wrote it.
        frame: where the program stands, for other names and for graphs that need the place.
    """

    def __init__(
        self, place: Place, op: str, value: Any, text: str, frame: types.FrameType | None
    ) -> None:
        self.target = place.label
        self.text = ""
        self._place = place
        self._op, self._value, self._operand = op, value, text
        self._frame = frame
        self._other: Tensor | None = None
        """What was there before, or what was put there once that is undone."""
        self._left = b""
        """Fingerprint of what this change has left."""

    @property
    def is_gone(self) -> bool:
        """Whether the memory has been freed."""
        with unseen():
            return self._place.is_gone

    def do(self) -> None:
        """Compute what is to be there, and put it there."""
        try:
            with unseen():
                self._do()
        except Refused:
            raise
        except (RuntimeError, TypeError, ValueError, IndexError, MemoryError) as error:
            raise Refused(f"`{self.target}` was not changed: {error_text(error)}") from None
        finally:
            self._value = self._frame = None  # nothing of the user's is kept alive

    def is_current(self) -> bool:
        """Compare the bits of all elements."""
        with unseen():
            return self._place.fingerprint() == self._left

    def overlaps(self, other: Change) -> bool:
        """Compare addresses."""
        if isinstance(other, Several):
            return other.overlaps(self)
        if not isinstance(other, TensorChange):
            return False
        with unseen():
            mine, its = self._place.memory(), other._place.memory()
        return mine is not None and its is not None and mine[0] < its[1] and its[0] < mine[1]

    def swap(self) -> None:
        """Exchange what is there with what is kept."""
        frame = user_frame(sys._getframe(1))
        try:
            with unseen():
                self._swap(frame)
        except (RuntimeError, MemoryError) as error:
            raise Refused(f"`{self.target}` is as it was: {error_text(error)}.") from None

    def _swap(self, frame: types.FrameType | None) -> None:
        assert self._other is not None
        self._refuse_if_needed(frame)
        there = self._place.read()
        self._write(self._other, there)
        self._other = there
        self._left = self._place.fingerprint()

    def _do(self) -> None:
        place = self._place
        self._refuse_if_needed(self._frame)
        there = place.view()
        made: Computed = OPERATIONS[self._op](there, self._value, self._operand, self.target)
        if made.new.dtype is not there.dtype or made.new.shape != there.shape:
            raise Refused(f"`{self.target}` was not changed: the result has another form.")
        before = place.read()
        self.before, self.old = stats(before, sync=True), _brief(before)
        self._write(made.new, before)
        self._other = before
        self._left = place.fingerprint()
        now = place.view()
        self.after, self.new = stats(now, sync=True), _brief(now)
        self.text = made.text
        self.notes = (*made.notes, *values_note(now), *self._shared(), *_one_rank())
        if made.statement:
            self.code = f"with torch.no_grad():\n    {made.statement.format(self.in_code)}"

    def _write(self, new: Tensor, before: Tensor) -> None:
        """Put ``new`` there, or leave ``before``."""
        try:
            self._place.write(new)
        except BaseException:
            self._place.write(before)
            raise

    def _refuse_if_needed(self, frame: types.FrameType | None) -> None:
        memory = self._place.memory()
        op = needed_by(memory, frame) if memory is not None else None
        if op is not None:
            raise Refused(_NEEDED.format(self.target, op))

    def _shared(self) -> tuple[str, ...]:
        """Say by which other names the same memory is known."""
        whole = self._place.whole
        names = names_sharing(whole, self._place.target, self._frame)
        others = [name for name in names if not _is_same(name, self.target)][:_MAX_NAMES]
        return (f"the same memory is {', '.join(others)}",) if others else ()


def _one_rank() -> tuple[str, ...]:
    """Say in a distributed run that replicas on other ranks are as they were."""
    if not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return ()
    size = torch.distributed.get_world_size()
    if size < 2:
        return ()
    rank = torch.distributed.get_rank()
    return (f"this is rank {rank} of {size}: the others keep theirs unless changed there too",)


def _is_same(name: str, target: str) -> bool:
    return target == name or target.startswith((f"{name}[", f"{name}."))


def _brief(x: Tensor) -> str:
    if x.numel() > _FEW:
        return ""
    numbers = x.detach().flatten().tolist()
    texts = [f"{n:.6g}" if isinstance(n, float) else str(n) for n in numbers]
    return texts[0] if x.numel() == 1 else f"[{', '.join(texts)}]"
