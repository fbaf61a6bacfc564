"""A change to a number or flag that is no tensor: a learning rate, a loss weight, ``drop.p``.

RUNS IN the training process, on the stopped thread. What is changed is a place: an attribute of an
object, or an entry of a dict or list. Variables of a call are Python's own.
"""

from __future__ import annotations

from typing import Any, Sequence

from torch import nn

from zentracer.control.pointed import Pointed
from zentracer.frameworks.pytorch.data.holders import Holder, holder_of
from zentracer.frameworks.pytorch.patches import scalar_rules, scalar_values
from zentracer.frameworks.pytorch.patches.optimizers import (
    Optimizer,
    is_group,
    own_attributes,
    with_group,
)
from zentracer.frameworks.pytorch.patches.recomputed import refuse_if_pending
from zentracer.frameworks.pytorch.unseen import unseen
from zentracer.observe.kinds import array_kind
from zentracer.observe.stats import error_text
from zentracer.patches.change import Change, Refused
from zentracer.watches import paths
from zentracer.watches.paths import MISSING

_INHERITED = object()
"""What an object has of its class: put back by taking its own away."""
_STATEMENTS = {"scale": "{} *= {}", "add": "{} += {}"}


class Slot:
    """Where a number is. Keeps nothing alive.

    Args:
        holder: reads it, or the tuple that it is in.
        at: its place in that tuple.
    """

    def __init__(self, holder: Holder, at: int | None = None) -> None:
        self._holder, self._at = holder, at

    @property
    def key(self) -> tuple[Any, ...]:
        """The same for the same place."""
        return self._holder.key

    @property
    def root(self) -> Any:
        """What is referred to weakly; None once it is gone."""
        return self._holder.root

    @property
    def container(self) -> Any:
        """The object, dict or list; ``MISSING`` if the way there is lost."""
        return self._holder.container()

    @property
    def name(self) -> Any:
        """The attribute or the key."""
        return self._holder.last[1]

    def get(self) -> Any:
        """Return the number, or ``MISSING``."""
        value = self._holder.get()
        if self._at is None or value is MISSING:
            return value
        return paths.item(value, self._at) if type(value) is tuple else MISSING

    def whole(self, new: Any) -> Any:
        """Return what the place holds with ``new`` in it: the tuple that the number is in."""
        if self._at is None:
            return new
        parts = list(self._holder.get())
        parts[self._at] = new
        return tuple(parts)

    def kept(self) -> Any:
        """Return what ``put`` takes to make the place what it is now."""
        reader, name = self._holder.last
        container = self.container
        now = self._holder.get()
        if reader is paths.attribute and name not in own_attributes(container):
            of_class = (b.__dict__[name] for b in type(container).__mro__ if name in b.__dict__)
            if next(of_class, MISSING) is now:
                return _INHERITED
        return now

    def put(self, value: Any) -> None:
        """Put ``value``, which ``kept`` or ``whole`` has returned, there."""
        reader, name = self._holder.last
        container = self.container
        if reader is paths.item:
            container[name] = value
        elif value is _INHERITED:
            delattr(container, name)
        else:
            setattr(container, name, value)


class ScalarChange(Change):
    """Sets, scales, adds to … the number in one place, or in the same place of several groups.

    Args:
        target: how the user calls it.
        slots: where it is.
        op: one of ``scalar_values.OPERATIONS``.
        value: the operand.
        text: how the user wrote it.
    """

    def __init__(self, target: str, slots: Sequence[Slot], op: str, value: Any, text: str) -> None:
        self.target, self.text = target, ""
        self._slots = list(slots)
        self._op, self._value, self._operand = op, value, text
        self._other: list[Any] = []
        """What ``put`` takes to undo it, or to do it again."""
        self._left: list[Any] = []
        """What this change has left."""

    @property
    def is_gone(self) -> bool:
        """Whether what has the number is gone."""
        return any(slot.get() is MISSING for slot in self._slots)

    def do(self) -> None:
        """Compute what is to be there, and put it there."""
        try:
            self._do()
        finally:
            self._value = None  # nothing of the user's is kept alive

    def is_current(self) -> bool:
        """Compare kind and value."""
        return all(
            scalar_values.is_same(slot.get(), left) for slot, left in zip(self._slots, self._left)
        )

    def overlaps(self, other: Change) -> bool:
        """Compare places."""
        if not isinstance(other, ScalarChange):
            return False
        keys = {slot.key for slot in self._slots}
        return any(slot.key in keys for slot in other._slots)

    def swap(self) -> None:
        """Exchange what is there with what is kept."""
        self._refuse_if_pending()
        there = [slot.kept() for slot in self._slots]
        self._put(self._other, there)
        self._other = there

    def _do(self) -> None:
        olds = [slot.get() for slot in self._slots]
        if any(old is MISSING for old in olds):
            raise Refused(f"`{self.target}` is not there any more.")
        self._refuse_if_different(olds)
        self._refuse_if_pending()
        new: list[Any] = []
        notes: dict[str, None] = {}
        for slot, old in zip(self._slots, olds):
            made = self._made(slot, old)
            new.append(slot.whole(made.value))
            self.text, self.new = made.text, scalar_values.brief(made.value)
            notes.update(dict.fromkeys([*made.notes, *self._notes(slot)]))
        self.old, self.notes = scalar_values.brief(olds[0]), tuple(notes)
        self.code = self._statement()
        kept = [slot.kept() for slot in self._slots]
        self._put(new, kept)
        self._other = kept

    def _made(self, slot: Slot, old: Any) -> scalar_values.Made:
        container, name = slot.container, slot.name
        made = scalar_values.made(
            old,
            self._op,
            self._value,
            self._operand,
            self.target,
            fractions=scalar_rules.fractions(container, name),
        )
        scalar_rules.check(slot.root, container, name, slot.whole(made.value), self.target)
        return made

    def _notes(self, slot: Slot) -> tuple[str, ...]:
        return scalar_rules.notes(slot.container, slot.name)

    def _refuse_if_pending(self) -> None:
        if any(isinstance(slot.container, nn.Module) for slot in self._slots):
            with unseen():
                refuse_if_pending(self.target)

    def _refuse_if_different(self, olds: Sequence[Any]) -> None:
        if all(scalar_values.is_same(olds[0], old) for old in olds) or self._op == "scale":
            return
        raise Refused(
            f"The parameter groups have different values of `{self.target}`: "
            f"{', '.join(map(scalar_values.brief, olds))}. Change one of them, as in "
            f"optimizer.param_groups[0][{self._slots[0].name!r}]."
        )

    def _put(self, values: Sequence[Any], there: Sequence[Any]) -> None:
        """Put ``values``, or leave what was ``there``.

        Raises:
            Refused: the object does not take it.
        """
        done = 0
        try:
            for slot, value in zip(self._slots, values):
                slot.put(value)
                done += 1
        except Exception as error:
            for slot, value in list(zip(self._slots, there))[:done]:
                slot.put(value)
            raise Refused(f"`{self.target}` was not changed: {error_text(error)}") from None
        self._left = [slot.get() for slot in self._slots]

    def _statement(self) -> str:
        first = self._slots[0]
        if self._op in _STATEMENTS:
            pattern, operand = _STATEMENTS[self._op], self._operand
        else:
            pattern, operand = "{} = {}", self.new
        if len(self._slots) > 1 or (isinstance(first.root, Optimizer) and self._is_short()):
            inner = pattern.format(f"group[{first.name!r}]", operand)
            return f"for group in optimizer.param_groups:\n    {inner}"
        return pattern.format(self.in_code, operand)

    def _is_short(self) -> bool:
        """Whether the target is a name of ours, ``lr``, and no expression."""
        return "[" not in self.target


def scalar_change(pointed: Pointed, more: Sequence[Any], op: str, value: Any, text: str) -> Change:
    """Return the change of the number that the user points at.

    Raises:
        Refused: it is no number, or in no place of its own.
    """
    for index in more:  # one of a tuple
        pointed.values.append(paths.item(pointed.value, index))
        pointed.steps.append((paths.item, index))
    kind, label = type(pointed.value).__name__, pointed.label
    if not scalar_values.is_scalar(pointed.value):
        raise Refused(f"`{label}` is of type {kind}, which cannot be changed here.")
    slot = slot_of(pointed)
    if slot is None:
        raise Refused(_why_not(pointed))
    pointed.release()
    return ScalarChange(label, [slot], op, value, text)


def holds_scalar(pointed: Pointed) -> bool:
    """Tell whether an assignment there is a change of a number of ours; runs nothing."""
    if any(array_kind(type(value)) for value in pointed.values):
        return False
    if not scalar_values.is_scalar(pointed.value) or len(pointed.values) < 2:
        return False
    return type(pointed.values[-2]) is not tuple and slot_of(pointed) is not None


def slot_of(pointed: Pointed) -> Slot | None:
    """Return the place of a number; None if it has none that can be read again."""
    values, steps = pointed.values, pointed.steps
    if not steps or len(values) != len(steps) + 1:
        return None
    at: int | None = None
    if type(values[-2]) is tuple:
        if len(steps) < 2 or type(steps[-1][1]) is not int:
            return None
        values, steps, at = values[:-1], steps[:-1], steps[-1][1]
    holder = _holder(values, steps, pointed.label)
    if holder is None or holder.get() is not values[-1]:
        return None
    container, (reader, _) = holder.container(), holder.last
    if reader is paths.item and type(container) not in (dict, list):
        return None
    return Slot(holder, at)


def group_slot(optimizer: Any, number: int, name: str) -> Slot:
    """Return the place of a setting of one parameter group."""
    return Slot(_in_group(optimizer, number, [(paths.item, name)]))


def _in_group(optimizer: Any, number: int, steps: Sequence[paths.Step]) -> Holder:
    way = [(paths.attribute, "param_groups"), (paths.item, number)]
    return Holder(optimizer, [*way, *steps])


def _holder(values: Sequence[Any], steps: Sequence[paths.Step], label: str) -> Holder | None:
    holder = holder_of(values, steps, label)
    if is_group(values[-2]) and not (holder and isinstance(holder.root, Optimizer)):
        found = with_group(values[-2])  # which can be referred to weakly, a group cannot
        if found is not None:
            return _in_group(*found, steps[-1:])
    return holder


def _why_not(pointed: Pointed) -> str:
    label = pointed.label
    if not pointed.steps:
        return (
            f"`{label}` is a variable, and only Python itself changes that: assign to it in the "
            "console. It is not kept among the changes."
        )
    return (
        f"`{label}` is computed, or in no dict, list or attribute that can be found again: change "
        "what it is read from."
    )
