"""The few array operations that pictures and histograms are made of, for torch and for numpy.

RUNS IN the user's training process; torch's are called inside ``quiet()``. What both frameworks
spell alike (slices, ``sum``, ``any``, arithmetic) needs no operation here.
"""

from __future__ import annotations

import sys
from typing import Any, ContextManager, Sequence, Tuple, Union

from zentracer.observe.kinds import TORCH, array_kind
from zentracer.observe.quiet import quiet, torch_if_loaded
from zentracer.observe.sampling import PIECE

DEVICE_PIECE = 1 << 22
"""Elements handled by one operation on an accelerator, whose memory may be nearly full."""
_SMALL = frozenset("float16 bfloat16 int8 uint8 int16 uint16 bool".split())
"""Types that float32 holds exactly; wider ones are looked at in float64."""


class TorchOps:
    """Operations on torch tensors of one device."""

    def __init__(self, data: Any) -> None:
        self._torch = torch = torch_if_loaded()
        self.piece = PIECE if data.is_cpu else DEVICE_PIECE
        self._wide = torch.float32 if data.device.type == "mps" else torch.float64

    def quietly(self) -> ContextManager[Any]:
        """The context in which all of it runs."""
        return quiet()

    def floats(self, part: Any) -> Any:
        """The numbers as float32 or float64; complex ones by magnitude."""
        torch = self._torch
        if part.is_quantized:
            part = part.dequantize()
        if part.dtype.is_complex:
            part = part.abs()
        name = str(part.dtype)[len("torch.") :]
        if name == "float32":
            return part
        narrow = name in _SMALL or name.startswith("float8")
        return part.to(torch.float32 if narrow else self._wide)

    def wide(self, part: Any) -> Any:
        """In float64, where the device has it."""
        return part.to(self._wide)

    def finite(self, part: Any) -> Any:
        """Which numbers are neither NaN nor infinite."""
        return part * 0 == 0  # a third of what torch.isfinite takes

    def where(self, kept: Any, part: Any, other: Any) -> Any:
        """``part`` where ``kept``, else ``other``."""
        return self._torch.where(kept, part, other)

    def cleaned(self, part: Any, infinity: float) -> Any:
        """0 for NaN, and ``infinity`` for infinite numbers, with their sign."""
        return self._torch.nan_to_num(part, 0.0, infinity, -infinity)

    def rows(self, table: Any, chosen: Any) -> Any:
        """The rows that the flags ``chosen``, of whatever shape, are set for."""
        return table.index_select(0, chosen.reshape(-1).nonzero().reshape(-1))

    def some(self, numbers: Any, chosen: Any) -> Any:
        """The chosen numbers, flat."""
        return numbers.masked_select(chosen)  # an index wakes the thread pool from 3,000 on

    def put(self, array: Any, chosen: Any, found: Any) -> None:
        """Write to where the flags ``chosen`` are set."""
        array.masked_scatter_(chosen, found)

    def full(self, like: Any, number: float) -> Any:
        """A new tensor of the size and type of ``like``."""
        return like.new_full(tuple(like.shape), number)

    def copied(self, part: Any) -> Any:
        """A copy."""
        return part.clone()

    def lowest(self, part: Any, dim: int) -> Any:
        """Minimum over one dimension; NaN if there is one."""
        return part.amin(dim)

    def highest(self, part: Any, dim: int) -> Any:
        """Maximum over one dimension; NaN if there is one."""
        return part.amax(dim)

    def bounds(self, part: Any) -> Tuple[float, float]:
        """Smallest and largest number."""
        low, high = self._torch.aminmax(part)
        return low.item(), high.item()

    def turned(self, part: Any, order: Sequence[int]) -> Any:
        """With the dimensions in that order."""
        return part.permute(tuple(order))

    def strides(self, part: Any) -> Tuple[int, ...]:
        """Distance of neighbours, one a dimension."""
        return tuple(part.stride())

    def counted(self, places: Any, bins: int) -> Any:
        """How often each of the places 0 … ``bins`` - 1 occurs."""
        return self._torch.bincount(places.to(self._torch.int32), minlength=bins)

    def buffer(self, memory: bytearray, kind: str, shape: Sequence[int]) -> Any:
        """A tensor on the CPU over ``memory``, of kind ``float32`` or ``uint8``."""
        dtype = getattr(self._torch, kind)
        return self._torch.frombuffer(memory, dtype=dtype).view(tuple(shape))

    def flags(self, part: Any) -> Any:
        """Flags as 0 and 1, in uint8."""
        return part.to(self._torch.uint8)


class NumpyOps:
    """Operations on numpy arrays."""

    piece = PIECE

    def __init__(self) -> None:
        self._numpy = sys.modules["numpy"]

    def quietly(self) -> ContextManager[Any]:
        """The context in which all of it runs."""
        return self._numpy.errstate(all="ignore")

    def floats(self, part: Any) -> Any:
        """The numbers as float32 or float64; complex ones by magnitude."""
        if part.dtype.kind == "c":
            part = self._numpy.abs(part)
        if part.dtype.name == "float32":
            return part
        return part.astype("float32" if part.dtype.name in _SMALL else "float64")

    def wide(self, part: Any) -> Any:
        """In float64."""
        return part.astype("float64")

    def finite(self, part: Any) -> Any:
        """Which numbers are neither NaN nor infinite."""
        return self._numpy.isfinite(part)

    def where(self, kept: Any, part: Any, other: Any) -> Any:
        """``part`` where ``kept``, else ``other``."""
        return self._numpy.where(kept, part, other)

    def cleaned(self, part: Any, infinity: float) -> Any:
        """0 for NaN, and ``infinity`` for infinite numbers, with their sign."""
        return self._numpy.nan_to_num(part, nan=0.0, posinf=infinity, neginf=-infinity)

    def rows(self, table: Any, chosen: Any) -> Any:
        """The rows that the flags ``chosen``, of whatever shape, are set for."""
        return table[chosen.reshape(-1)]

    def some(self, numbers: Any, chosen: Any) -> Any:
        """The chosen numbers, flat."""
        return numbers[chosen]

    def put(self, array: Any, chosen: Any, found: Any) -> None:
        """Write to where the flags ``chosen`` are set."""
        array[chosen] = found

    def full(self, like: Any, number: float) -> Any:
        """A new array of the size and type of ``like``."""
        return self._numpy.full(like.shape, number, like.dtype)

    def copied(self, part: Any) -> Any:
        """A copy."""
        return part.copy()

    def lowest(self, part: Any, dim: int) -> Any:
        """Minimum over one dimension; NaN if there is one."""
        return part.min(dim)

    def highest(self, part: Any, dim: int) -> Any:
        """Maximum over one dimension; NaN if there is one."""
        return part.max(dim)

    def bounds(self, part: Any) -> Tuple[float, float]:
        """Smallest and largest number."""
        return float(part.min()), float(part.max())

    def turned(self, part: Any, order: Sequence[int]) -> Any:
        """With the dimensions in that order."""
        return part.transpose(tuple(order))

    def strides(self, part: Any) -> Tuple[int, ...]:
        """Distance of neighbours, one a dimension."""
        return tuple(map(abs, part.strides))

    def counted(self, places: Any, bins: int) -> Any:
        """How often each of the places 0 … ``bins`` - 1 occurs."""
        return self._numpy.bincount(places.astype("int64"), minlength=bins)

    def buffer(self, memory: bytearray, kind: str, shape: Sequence[int]) -> Any:
        """An array over ``memory``, of kind ``float32`` or ``uint8``."""
        return self._numpy.frombuffer(memory, dtype=kind).reshape(tuple(shape))

    def flags(self, part: Any) -> Any:
        """Flags as 0 and 1, in uint8."""
        return part.astype("uint8")


Ops = Union[TorchOps, NumpyOps]


def ops_for(data: Any) -> Ops:
    """The operations for readable ``data`` (see ``Facts.data``)."""
    return TorchOps(data) if array_kind(type(data)) == TORCH else NumpyOps()
