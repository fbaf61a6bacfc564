"""A tensor, array or storage that is watched as a whole or in parts.

RUNS IN the training process, inside ``unseen()``. It keeps neither the tensor nor its storage nor a
graph alive, and follows what happens to them: new contents, other memory, another tensor in the
same place, the end.
"""

from __future__ import annotations

import weakref
from typing import Any, Callable

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from zentracer.frameworks.pytorch.data.holders import Holder
from zentracer.frameworks.pytorch.data.ranges import Range
from zentracer.frameworks.pytorch.finite import PLAIN
from zentracer.observe.kinds import NUMPY, TORCH, array_kind
from zentracer.watches.paths import MISSING

_NEVER = ("never",)
"""What was seen of something new: it differs from all that can be."""
_storage_of_pointer: Any = torch.UntypedStorage._new_with_weak_ptr  # type: ignore[attr-defined]


class Source:
    """What one or more breakpoints watch parts of."""

    def __init__(self, value: Any, holder: Holder | None) -> None:
        self.holder = holder
        self.exposed = False
        """Whether somebody may write without torch's counting it: NumPy, C code."""
        self._seen: Any = None
        self.module: str | None = None
        """The module that has it, once that was looked for: it takes a walk through all objects."""
        self.bind(value)

    def bind(self, value: Any) -> None:
        """Watch ``value`` from now on; None where nothing is held for now."""
        self.module = None
        self._value: Callable[[], Any] = weakref.ref(value) if value is not None else _nothing
        self._storage: StorageWeakRef | None = None
        self.is_host = True
        """Whether it can be compared without waiting for an accelerator."""
        self.is_empty = value is None
        self.exposed = False
        if isinstance(value, Tensor):
            self._bind_tensor(value)
        elif value is not None:
            self.exposed = True
        self._seen = self._now()

    def _bind_tensor(self, value: Tensor) -> None:
        self.is_host = value.is_cpu
        try:
            storage = value.untyped_storage()
        except (NotImplementedError, RuntimeError):  # a sparse gradient, a wrapper: not readable
            return
        self._storage = StorageWeakRef(storage)
        self._geometry = _geometry(value)
        # What came from NumPy cannot be resized; whoever has the array may write into it.
        self.exposed = self.exposed or (value.is_cpu and not storage.resizable())

    @property
    def is_gone(self) -> bool:
        """Whether what was watched has been freed, and its place holds nothing instead."""
        if self.is_empty or self._value() is not None:
            return False
        if self._storage is not None and not self._storage.expired():
            return False
        return self.rebound() is MISSING

    @property
    def is_uncounted(self) -> bool:
        """Whether writes may happen that no version counter tells of."""
        if self.is_empty:
            return False
        return self.exposed or self._value() is None or self._seen[0] is None

    @property
    def is_counted(self) -> bool:
        """Whether torch counts its own writes, those of compiled code apart."""
        return self._value() is not None and self._seen[0] is not None

    def needs_a_glance(self, *, counted_too: bool) -> bool:
        """Tell whether only its content tells whether somebody has written, and is cheap to get at.

        Args:
            counted_too: also where torch counts writes: an array that was taken before anything
                was watched may lie in the same memory.
        """
        if self.is_uncounted or not counted_too:
            return self.is_host and self.is_uncounted
        return self.is_host and not self.is_empty and self._storage is not None

    @property
    def needs_reading(self) -> bool:
        """Whether somebody may write past torch.

        Comparing waits for an accelerator, so there it takes an occasion: ``exposed`` was set since
        the last look.
        """
        return self.is_uncounted and (self.is_host or self.exposed)

    @property
    def is_gradient(self) -> bool:
        """Whether it is watched as the gradient of another tensor."""
        return self.holder is not None and self.holder.is_gradient

    def looked(self) -> None:
        """Its content was compared."""
        if not self.is_host:
            self.exposed = False

    def identities(self) -> list[int]:
        """Return the identities of what a write into it may be called on."""
        found = [self.holder.identity] if self.holder is not None else []
        value = self._value()
        return found if value is None else [*found, id(value)]

    @property
    def value(self) -> Any:
        """The tensor or array itself; None if it is gone, maybe with its memory still there."""
        return self._value()

    def is_value(self, value: Any) -> bool:
        """Tell whether ``value`` is the very object that is watched."""
        return self._value() is value

    def matches(self, value: Any, holder: Holder | None) -> bool:
        """Tell whether this is the source of ``value`` in that place."""
        if holder is None:
            return self._value() is value
        root = holder.root
        return self.holder is not None and root is not None and self.holder.root is root

    def tensor(self) -> Tensor | None:
        """Return what is there as a plain tensor, to be read and let go; None if nothing is."""
        value = self._value()
        if value is not None and array_kind(type(value)) == NUMPY:
            return as_tensor(value)
        if value is not None:
            return value.detach() if self._storage is not None else None
        if self._storage is None or self._storage.expired():
            return None
        storage = _storage_of_pointer(self._storage.cdata)
        if storage is None:
            return None
        dtype, device, shape, strides, offset = self._geometry
        return torch.empty(0, dtype=dtype, device=device).set_(storage, offset, shape, strides)

    def has_moved(self) -> bool:
        """Tell whether its contents may have changed since ``see``."""
        return self._now() != self._seen

    def see(self) -> bool:
        """Take what is there for known; return whether it has other memory now."""
        now, value = self._now(), self._value()
        moved = now[1:] != self._seen[1:]
        if moved and isinstance(value, Tensor):
            self._bind_tensor(value)
            now = self._now()
        self._seen = now
        return moved

    def rebound(self) -> Any:
        """Return what the holder holds instead, None for nothing; ``MISSING`` if nothing new."""
        if self.holder is None:
            return MISSING
        held = own_part(self.holder.get())
        if held is MISSING or (held is None and self.is_empty):
            return MISSING
        if held is not None and (self._value() is held or not array_kind(type(held))):
            return MISSING
        return held

    def follow(self, value: Any) -> None:
        """Watch ``value``, which its place holds instead; its content is still to be learnt."""
        if not self.is_value(value) or (value is None and not self.is_empty):
            self.bind(value)
            self._seen = _NEVER

    def _now(self) -> Any:
        value = self._value()
        if value is None or array_kind(type(value)) != TORCH or self._storage is None:
            return (None,)
        version = None if value.is_inference() else value._version
        return (version, value.data_ptr(), value.shape)


def own_part(value: Any) -> Any:
    """Return the tensor that holds a rank's own part of a distributed one; else ``value``."""
    if array_kind(type(value)) != TORCH:
        return value
    inner = getattr(value, "__dict__", {}).get("_local_tensor")
    return inner if isinstance(inner, Tensor) else value


def _nothing() -> None:
    return None


def _geometry(x: Tensor) -> tuple[Any, ...]:
    return (x.dtype, x.device, tuple(x.shape), x.stride(), x.storage_offset())


def as_tensor(array: Any) -> Tensor:
    """Return the memory of an array of NumPy's as a tensor.

    Raises:
        TypeError: torch has no such elements.
        ValueError: it cannot be laid out so.
    """
    backwards = [axis for axis, stride in enumerate(array.strides) if stride < 0]
    for axis in backwards:  # the same memory, the other way round
        array = array[(slice(None),) * axis + (slice(None, None, -1),)]
    if array.flags.writeable:
        return torch.from_numpy(array)
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.from_numpy(array)


def memory_of(x: Tensor) -> Range | None:
    """Return the addresses between the first and the last element; None if there are none."""
    if not x.numel():
        return None
    start = x.data_ptr()
    if not start:
        return None
    if x.is_contiguous():
        return start, start + x.numel() * x.element_size()
    extent = sum((size - 1) * stride for size, stride in zip(x.shape, x.stride()))
    return start, start + (extent + 1) * x.element_size()


def range_of(x: Any) -> Range | None:
    """Return the memory of any tensor, that of a rank's own part for a distributed one."""
    if type(x) in PLAIN:
        return memory_of(x)
    with torch._C.DisableTorchFunction():  # a subclass of the user's is not to see it
        return _range_of_any(x)


def _range_of_any(x: Any) -> Range | None:
    for _ in range(8):
        try:
            return memory_of(x)
        except RuntimeError:  # a wrapper: of functorch, of a distributed tensor …
            functorch = torch._C._functorch  # type: ignore[attr-defined]
            if functorch.is_functorch_wrapped_tensor(x):
                x = functorch.get_unwrapped(x)
            else:
                x = getattr(x, "__dict__", {}).get("_local_tensor")
        if x is None:
            return None
    return None
