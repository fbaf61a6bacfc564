"""Is a tensor free of NaN and Inf? Cheap first, exact only when the cheap answer is bad.

RUNS IN the training process. A sum, or a scalar product with itself, is NaN or infinite whenever
an element is, and costs a fourteenth of ``isfinite(x).all()``. Finite tensors may overflow it,
hence the exact pass.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Iterator

import torch
from torch import Tensor
from torch.nn import Parameter

PLAIN = frozenset({Tensor, Parameter})
_WIDE = frozenset({torch.float32, torch.float64, torch.complex64, torch.complex128})
_NARROW = frozenset({torch.float16, torch.bfloat16})
FLOATING = _WIDE | _NARROW
_SMALL = 32_768
"""Elements up to which torch sums on the calling thread alone."""
_NO_TORCH_DISPATCH = Tensor.__torch_dispatch__  # type: ignore[attr-defined]

_no_grad = torch._C._set_grad_enabled
_grad_enabled = torch.is_grad_enabled


def looks_finite(x: Tensor) -> bool:
    """Return False if ``x``, a plain dense tensor of floating type, may hold NaN or Inf."""
    if x.requires_grad:
        before = _grad_enabled()
        _no_grad(False)
        try:
            return _looks_finite(x)
        finally:
            _no_grad(before)
    return _looks_finite(x)


def _looks_finite(x: Tensor) -> bool:
    # A scalar product is quicker than a sum, and unlike it does not wake the second core for
    # medium sizes. Where it overflows (above 1e19), the sum decides.
    if x.dtype is torch.float32 and x.numel() > _SMALL and x.is_contiguous() and x.is_cpu:
        flat = x.view(-1)
        value = flat.dot(flat).item()
        if value - value == 0:  # false for NaN and for both infinities
            return True
    value = x.sum().item()
    if value - value != 0 and x.dtype in _NARROW:
        value = x.sum(dtype=torch.float32).item()
    return bool(value - value == 0)


def counts(x: Tensor) -> tuple[int, int]:
    """Return the exact numbers of NaN and of infinite elements of ``x`` (any dense tensor)."""
    before = _grad_enabled()
    _no_grad(False)
    try:
        x = x.detach()
        if looks_finite(x):
            return 0, 0
        return int(x.isnan().sum()), int(x.isinf().sum())
    finally:
        _no_grad(before)


def is_bad(x: Any) -> bool:
    """Return whether the tensor ``x`` holds NaN or Inf, as far as its values may be read."""
    plain = readable_tensor(x)
    return plain is not None and any(counts(plain))


def readable_tensor(x: Any) -> Tensor | None:
    """Return ``x`` as a plain dense floating tensor whose values may be read, else None.

    Unwraps functorch levels and distributed tensors; None for fake, meta, sparse, quantised and
    nested tensors, for subclasses that see each operation, and for what is not a tensor.
    """
    for _ in range(8):
        kind = type(x)
        if kind in PLAIN:
            break
        if not isinstance(x, Tensor) or "Fake" in kind.__name__ or "Functional" in kind.__name__:
            return None
        inner = x.__dict__.get("_local_tensor") if hasattr(x, "__dict__") else None
        if inner is None:
            break
        x = inner
    functorch = torch._C._functorch  # type: ignore[attr-defined]
    for _ in range(16):
        if not functorch.is_functorch_wrapped_tensor(x):
            break
        x = functorch.get_unwrapped(x)
    if type(x).__torch_dispatch__ is not _NO_TORCH_DISPATCH:  # type: ignore[attr-defined]
        return None  # a subclass that is told of every operation
    if x.dtype not in FLOATING or x.layout is not torch.strided or x.is_nested:
        return None
    return x if not x.is_meta and x.numel() else None


def tensors_in(value: Any, depth: int = 4) -> Iterator[Tensor]:
    """Yield the tensors in nested tuples, lists, dicts and dataclasses."""
    if isinstance(value, Tensor):
        yield value
    elif depth and isinstance(value, (tuple, list)):
        for item in value[:256]:
            yield from tensors_in(item, depth - 1)
    elif depth and isinstance(value, dict):
        for item in list(value.values())[:256]:
            yield from tensors_in(item, depth - 1)
    elif depth and dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from tensors_in(getattr(value, field.name, None), depth - 1)


def outputs_of(value: Any) -> list[Tensor]:
    """Return the tensors in what some function returned. Never raises."""
    try:
        return list(tensors_in(value))
    except Exception:  # objects of the user's that raise when they are asked for their class
        return []


def scalars_in(value: Any, depth: int = 3) -> Iterator[complex]:
    """Yield the Python floats in nested arguments."""
    if isinstance(value, (float, complex)):
        yield value
    elif depth and isinstance(value, (tuple, list)):
        for item in value[:64]:
            yield from scalars_in(item, depth - 1)
    elif depth and isinstance(value, dict):
        for item in list(value.values())[:64]:
            yield from scalars_in(item, depth - 1)
