"""What a torch tensor is, told from metadata alone, and which of its data may be read.

RUNS IN the user's training process. Every function here is called inside ``quiet()``.

Architecture invariant: reading the data of a tensor whose storage was freed, or that never had
any, ends the process. ``readable`` is the only judge of what may be read.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any, Tuple

from zentracer.observe.facts import FAKE, FREED, LAZY, META, Facts, is_numeric
from zentracer.observe.quiet import torch_if_loaded


def torch_facts(tensor: Any) -> Facts:
    """Describe ``tensor``; may raise what torch raises on broken tensors."""
    dtype = dtype_name(tensor.dtype)
    device = str(tensor.device)
    kind = special_type(type(tensor))
    if kind == "lazy":
        return Facts(None, dtype, device, why=LAZY)
    torch = torch_if_loaded()
    functorch = torch._C._functorch
    if functorch.is_functorch_wrapped_tensor(tensor):
        return _transformed(tensor, functorch, dtype, device)
    if tensor.is_nested:
        return _nested(tensor, dtype, device)
    shape = plain_shape(tensor.shape)
    if kind == "fake":
        return Facts(shape, dtype, device, why=FAKE)
    if tensor.is_meta:
        return Facts(shape, dtype, device, why=META)
    if tensor.layout is not torch.strided:
        return _not_strided(tensor, str(tensor.layout), shape, dtype, device)
    facts = Facts(shape, dtype, device)
    if tensor.is_quantized:
        facts.notes = (_quantisation(tensor),)
    return readable(facts, tensor)


def readable(facts: Facts, data: Any) -> Facts:
    """Set ``facts.data`` if the elements of the strided tensor ``data`` exist in memory."""
    if not is_numeric(data.shape):
        return facts
    on_host = data.is_cpu
    if data.numel() and (on_host or data.is_cuda):
        try:
            storage = data.untyped_storage()
            if storage.nbytes() < _extent(data) * data.element_size():
                facts.why = FREED
                return facts
            if on_host and not storage.data_ptr():
                return facts
        except RuntimeError:  # a wrapper subclass: its data are elsewhere
            return facts
    facts.data = data
    facts.on_host = on_host
    return facts


@functools.cache
def dtype_name(dtype: Any) -> str:
    """``float32`` for ``torch.float32``."""
    return str(dtype).rpartition(".")[2]


def plain_shape(shape: Any) -> Tuple[Any, ...]:
    """Sizes as ints; symbolic sizes as text, since comparing them would add guards."""
    return tuple([size if type(size) is int else str(size) for size in shape])


@functools.cache
def special_type(type_object: type) -> str:
    """``lazy``, ``fake`` or the empty string, told from the names of the base classes."""
    for base in type_object.__mro__:
        if base.__name__ == "UninitializedTensorMixin":
            return "lazy"
        if base.__name__ in ("FakeTensor", "FunctionalTensor"):
            return "fake"
    return ""


def _extent(tensor: Any) -> int:
    """Number of elements between the start of the storage and the tensor's last element."""
    last = tensor.storage_offset()
    if tensor.is_contiguous():
        return last + tensor.numel()
    for size, stride in zip(tensor.shape, tensor.stride()):
        last += (size - 1) * stride
    return last + 1


def _transformed(tensor: Any, functorch: Any, dtype: str, device: str) -> Facts:
    shape = plain_shape(tensor.shape)
    inner = tensor
    batched = False
    while functorch.is_functorch_wrapped_tensor(inner):
        batched = batched or functorch.is_batchedtensor(inner)
        inner = functorch.get_unwrapped(inner)
    below = torch_facts(inner)
    if batched:
        inner_shape = "?" if below.shape is None else ", ".join(map(str, below.shape))
        below.notes = (f"vmap of {below.dtype}[{inner_shape}]", *below.notes)
    return replace(below, shape=shape, dtype=dtype, device=device)


def _nested(tensor: Any, dtype: str, device: str) -> Facts:
    if str(tensor.layout) == "torch.jagged":
        facts = Facts(plain_shape(tensor.shape), dtype, device, ("nested jagged",))
        return readable(facts, tensor._values)
    sizes = tensor._nested_tensor_size().tolist()
    dims = [column[0] if len(set(column)) == 1 else "*" for column in zip(*sizes)]
    facts = Facts((len(sizes), *dims), dtype, device, ("nested",))
    return readable(facts, tensor.values())


def _not_strided(tensor: Any, layout: str, shape: Any, dtype: str, device: str) -> Facts:
    name = layout.rpartition(".")[2].lstrip("_")
    facts = Facts(shape, dtype, device, (name,))
    if name == "sparse_coo":
        values = tensor._values()
    elif name.startswith("sparse_"):
        values = tensor.values()
    else:
        return facts
    facts.notes = (f"{name} {values.shape[0]} stored",)
    return readable(facts, values)


def _quantisation(tensor: Any) -> str:
    if str(tensor.qscheme()) == "torch.per_tensor_affine":
        return f"scale {tensor.q_scale():.6g} zero {tensor.q_zero_point()}"
    return f"quantised {str(tensor.qscheme()).rpartition('.')[2]}"
