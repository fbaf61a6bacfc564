"""The elements that a change is about: all of a tensor or array, a part, or picked ones.

RUNS IN the training process, inside ``unseen()``. A place keeps nothing alive.
"""

from __future__ import annotations

import hashlib
from typing import Any, Sequence

import torch
from torch import Tensor

from zentracer.control.pointed import Pointed
from zentracer.frameworks.pytorch.data.ranges import Range
from zentracer.frameworks.pytorch.data.registry import target_for
from zentracer.frameworks.pytorch.data.resolve import last_array
from zentracer.frameworks.pytorch.data.source import as_tensor, memory_of, own_part
from zentracer.frameworks.pytorch.data.target import Part, Target, part_of
from zentracer.observe.kinds import NUMPY, array_kind
from zentracer.observe.stats import facts_of
from zentracer.patches.change import Refused

_PIECE = 1 << 22
"""Elements that are read at once from a device."""


class Place:
    """Where to read and write.

    Args:
        target: the memory.
        index: which elements of it, where they are no regular part: a mask, lists of indices.
        label: how the user calls the place.
    """

    def __init__(self, target: Target, index: Any, label: str) -> None:
        self._target = target
        self._index = index
        self.label = label

    @property
    def is_gone(self) -> bool:
        """Whether the memory has been freed."""
        return self._target.source.is_gone or self._target.tensor() is None

    @property
    def whole(self) -> Tensor:
        """The memory of the part; written through, the original knows of it."""
        x = self._target.tensor()
        if x is None:
            raise Refused(f"`{self.label}` has been freed.")
        return x

    @property
    def owner(self) -> Any:
        """The tensor or array of which this is a part; None if only its memory is left."""
        return self._target.source.value

    @property
    def target(self) -> Target:
        """The memory, as data breakpoints know it."""
        return self._target

    def view(self) -> Tensor:
        """Return the elements: the memory itself, or a copy of picked ones."""
        return self.whole if self._index is None else self.whole[self._index]

    def read(self) -> Tensor:
        """Return a copy of the elements."""
        return self.view().clone() if self._index is None else self.view()

    def write(self, new: Tensor) -> None:
        """Put ``new``, which has the shape and the type of ``view()``, in their place."""
        x = self.whole
        with torch.inference_mode(mode=x.is_inference()):
            if self._index is None:
                x.copy_(new)
            else:
                x[self._index] = new

    def memory(self) -> Range | None:
        """Return the addresses between the first and the last element."""
        x = self._target.tensor()
        return memory_of(x) if x is not None else None

    def fingerprint(self) -> bytes:
        """Return a digest of the bits of all elements."""
        digest = hashlib.blake2b(digest_size=16)
        flat = self.view().reshape(-1) if self._index is None else self.view().flatten()
        for start in range(0, flat.numel(), _PIECE):
            piece = flat[start : start + _PIECE].contiguous()
            digest.update(piece.view(torch.uint8).cpu().numpy().data)
        return digest.digest()


def place_of(pointed: Pointed, more: Sequence[Any] = ()) -> Place:
    """Return what the user points at, further narrowed by the indices ``more``.

    Raises:
        Refused: it has no memory of its own that can be changed.
    """
    values, steps, label = pointed.values, pointed.steps, pointed.label
    at = last_array(pointed)
    whole = _changeable(values[at], label)
    base, part = whole, None
    if isinstance(whole, Tensor) and whole._base is not None and not steps[at:] and not more:
        base, part = _of_base(whole)
    if part is not None or (not steps[at:] and not more):
        return Place(target_for(base, None, part, label), None, label)
    x = picked = whole.detach() if isinstance(whole, Tensor) else as_tensor(whole)
    irregular: Any = None
    indices = [argument for _, argument in steps[at:]] + list(more)
    for number, index in enumerate(indices):
        try:
            following = picked[index]
        except (IndexError, TypeError, ValueError, RuntimeError) as error:
            raise Refused(f"`{label}` cannot be indexed so: {_sentence(error)}") from None
        if _shares(following, x):
            picked = following
        elif number == len(indices) - 1:
            irregular = index
        else:
            raise Refused(
                f"`{label}` goes on from a copy of elements; name the tensor and one last index."
            )
    part = part_of(x, picked)
    if not picked.numel() or (irregular is not None and not picked[irregular].numel()):
        raise Refused(f"`{label}` has no elements.")
    return Place(target_for(whole, None, part, label), irregular, label)


def _changeable(value: Any, label: str) -> Any:
    """Return the tensor or array whose memory can be written.

    Raises:
        Refused: there is none.
    """
    value = own_part(value)
    facts = facts_of(value)
    if facts.data is None:
        why = facts.why or f"its elements are of type {facts.dtype}"
        raise Refused(f"`{label}` cannot be changed: {why}.")
    if not facts.size:
        raise Refused(f"`{label}` has no elements.")
    if array_kind(type(value)) == NUMPY:
        if not value.flags.writeable:
            raise Refused(f"`{label}` is read-only.")
        try:
            as_tensor(value)
        except (TypeError, ValueError) as error:
            raise Refused(f"`{label}` cannot be changed: {_sentence(error)}") from None
    elif facts.data is not value or value.is_quantized:
        what = ", ".join(facts.notes) or type(value).__name__
        raise Refused(
            f"`{label}` cannot be changed in place ({what}): what it shows is computed from other "
            "tensors; change one of those."
        )
    elif any(stride == 0 and size > 1 for size, stride in zip(value.shape, value.stride())):
        raise Refused(
            f"`{label}` is expanded: several of its elements are one in memory. Change the tensor "
            "that it was made from."
        )
    return value


def _of_base(x: Tensor) -> tuple[Tensor, Part | None]:
    """Return the tensor of which ``x`` is a view, which lives longer, and which part it is."""
    base = x._base
    same = base is not None and base.dtype is x.dtype and base.layout is torch.strided
    return (base, part_of(base, x)) if same and base is not None else (x, None)


def _sentence(error: Exception) -> str:
    return str(error).rstrip().rstrip(".") + "."


def _shares(x: Tensor, other: Tensor) -> bool:
    return x.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()
