"""What torch's functions are called, and which operations run inside of which.

RUNS IN the training process. One operation has many spellings: ``F.softmax(x)``,
``torch.softmax(x)`` and ``x.softmax()`` all are ``softmax``, ``torch.softmax`` and
``aten.softmax``; ``a + b`` is ``add``. ``F.…`` and ``Tensor.…`` name one spelling.
"""

from __future__ import annotations

import functools
import types
from typing import Any, Iterator

import torch
import torch.functional
import torch.nn.functional
import torch.nn.init
from torch import Tensor

from zentracer.frameworks.pytorch.plans import readable

_SPELLED = (
    ("F", "torch.nn.functional", torch.nn.functional),
    ("init", "torch.nn.init", torch.nn.init),
    ("linalg", "torch.linalg", torch.linalg),
    ("fft", "torch.fft", torch.fft),
    ("special", "torch.special", torch.special),
    ("sparse", "torch.sparse", torch.sparse),
    ("torch", "torch", torch),
)
"""Short and full name of each namespace, the ones that say most first."""
_TENSOR = ("Tensor", "torch.Tensor")
_BUILTIN_MODULES = {
    "torch._C._nn": ("F", "torch.nn.functional", ""),
    "torch._C._linalg": ("linalg", "torch.linalg", "linalg_"),
    "torch._C._fft": ("fft", "torch.fft", "fft_"),
    "torch._C._special": ("special", "torch.special", "special_"),
    "torch._C._sparse": ("sparse", "torch.sparse", "_sparse_"),
}
"""Where functions of C++ say they are from: namespace, and the prefix of its names there."""
_SAME = ("F.", "Tensor.", "init.")
"""Namespaces in which a name is that of the operation; ``linalg.norm`` is not ``torch.norm``."""
_OPERATORS = {"div": "truediv", "eq": "eq", "ge": "ge", "gt": "gt", "le": "le", "lt": "lt"}
_ARITHMETIC = frozenset("add sub mul div matmul pow".split())
_CONVOLUTIONS = "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d".split()
_INSIDE: dict[str, tuple[str, ...]] = {
    "_adaptive_avg_pool2d": ("adaptive_avg_pool2d",),
    "_convolution": tuple(_CONVOLUTIONS),
    "_log_softmax": ("log_softmax", "cross_entropy"),
    "_native_batch_norm_legit": ("batch_norm", "instance_norm"),
    "_scaled_dot_product_attention_math": ("scaled_dot_product_attention",),
    "_scaled_dot_product_efficient_attention": ("scaled_dot_product_attention",),
    "_scaled_dot_product_flash_attention": ("scaled_dot_product_attention",),
    "_scaled_dot_product_flash_attention_for_cpu": ("scaled_dot_product_attention",),
    "_softmax": ("softmax",),
    "_to_copy": ("to", "float", "double", "half", "bfloat16"),
    "addmm": ("linear",),
    "bmm": ("matmul",),
    "convolution": tuple(_CONVOLUTIONS),
    "cross_entropy_loss": ("cross_entropy",),
    "max_pool2d_with_indices": ("max_pool2d",),
    "mm": ("matmul", "linear"),
    "native_batch_norm": ("batch_norm",),
    "native_dropout": ("dropout",),
    "native_group_norm": ("group_norm",),
    "native_layer_norm": ("layer_norm",),
    "nll_loss_forward": ("nll_loss", "cross_entropy"),
    "nll_loss_nd": ("nll_loss", "cross_entropy"),
    "scaled_dot_product_attention": ("multi_head_attention_forward",),
}
"""Operation -> functions of torch that run it where Python does not see it."""


def normalised(name: str) -> str:
    """Return what the user wrote, as ``names_of`` spells it."""
    name = name.replace("::", ".")
    name = name[len("torch.ops.") :] if name.startswith("torch.ops.") else name
    parts = name.split(".")
    if parts[0] == "aten" and len(parts) == 3:  # which overload runs is not to be seen
        return ".".join(parts[:2])
    return name


def names_of(function: Any) -> frozenset[str]:
    """Return the names that the operation of a torch function may be called by."""
    if type(function).__name__ in ("OpOverload", "OpOverloadPacket"):
        return _of_registered(str(function))
    raw = getattr(function, "__name__", "") or ""
    spelled = frozenset(_index().get(function, ())) | _spelled_by_origin(function, raw)
    own = {raw, readable_name(raw)} | {
        name.rpartition(".")[2] for name in spelled if name.startswith(_SAME)
    }
    own = {name for name in own if name.isidentifier() and not name.startswith("__")}
    known = _aten()
    general = {f"aten.{name}" for name in own if name in known}
    general |= {f"torch.{name}" for name in own if name in _of_torch()}
    plain = {name.rpartition(".")[2] for name in spelled}
    return spelled | own | plain | general | _operators(own)


def label_of(function: Any) -> str:
    """Return what a function is called in messages and conditions: ``softmax``, ``ns.name``."""
    if type(function).__name__ in ("OpOverload", "OpOverloadPacket"):
        namespace, _, rest = str(function).partition(".")
        name = rest.partition(".")[0]
        return name if namespace == "aten" else f"{namespace}.{name}"
    spelled = sorted(name for name in _index().get(function, ()) if not name.startswith("torch."))
    name = spelled[0].rpartition(".")[2] if spelled else getattr(function, "__name__", "?")
    return readable_name(name)


def inside(name: str) -> tuple[str, ...]:
    """Return the functions inside of which an operation runs unseen; ``name`` is no glob."""
    prefix, _, last = name.rpartition(".")
    is_own = prefix == "aten" or (prefix in ("", "torch") and name not in visible_names())
    return _INSIDE.get(last, ()) if is_own else ()


@functools.lru_cache(maxsize=1)
def visible_names() -> frozenset[str]:
    """Return the names of all functions that Python sees."""
    found: set[str] = set()
    for function in _index():
        found |= names_of(function)
    return frozenset(found)


def registered_names() -> frozenset[str]:
    """Return the names of all operations that are registered now, custom ones among them."""
    listed = getattr(torch._C, "_dispatch_get_all_op_names", tuple)()
    return frozenset(name.partition("::")[0] + "." + _base(name) for name in listed)


def readable_name(raw: str) -> str:
    """Return the plain name: ``__rsub__`` is ``sub``, ``__iadd__`` is ``add_``."""
    if raw.startswith("__i") and raw.endswith("__") and readable(raw) != raw.strip("_"):
        return readable(raw) + "_"
    return readable(raw) if raw.startswith("__") else raw


def _of_registered(text: str) -> frozenset[str]:
    """Return the names of an operation that is called as ``torch.ops.ns.name``."""
    namespace, _, rest = text.partition(".")
    name = rest.partition(".")[0]
    found = {text, f"{namespace}.{name}", name}
    if namespace == "aten" and name in _of_torch():
        found.add(f"torch.{name}")
    return frozenset(found)


def _spelled_by_origin(function: Any, raw: str) -> frozenset[str]:
    """Return the spellings of a function that no namespace holds under its own name."""
    module = getattr(function, "__module__", None)
    if module in _BUILTIN_MODULES:
        short, full, prefix = _BUILTIN_MODULES[module]
        name = raw[len(prefix) :] if raw.startswith(prefix) else raw
        return frozenset((f"{short}.{name}", f"{full}.{name}"))
    for short, full, _ in _SPELLED:
        if module == full:
            return frozenset((f"{short}.{raw}", f"{full}.{raw}"))
    return frozenset()


def _operators(plain: set[str]) -> frozenset[str]:
    found: set[str] = set()
    for name in plain:
        base = name[:-1] if name.endswith("_") else name
        operator = _OPERATORS.get(base, base)
        if base in _ARITHMETIC:
            kinds = ("i",) if name != base else ("", "r")
            found.update(f"Tensor.__{kind}{operator}__" for kind in kinds)
        elif name in _OPERATORS:
            found.add(f"Tensor.__{operator}__")
    return frozenset(found)


@functools.lru_cache(maxsize=1)
def _index() -> dict[Any, frozenset[str]]:
    """Return the spellings of each public function, by the function."""
    found: dict[Any, set[str]] = {}
    for short, full, namespace in _SPELLED:
        for name, function in _functions(vars(namespace)):
            if short == "torch" and getattr(function, "__module__", "") not in _IN_TORCH:
                continue  # what is there besides operations
            found.setdefault(function, set()).update((f"{short}.{name}", f"{full}.{name}"))
    methods = {**vars(torch._C.TensorBase), **vars(Tensor)}  # type: ignore[attr-defined]
    for name, function in _functions(methods):
        found.setdefault(function, set()).update(f"{kind}.{name}" for kind in _TENSOR)
    return {function: frozenset(names) for function, names in found.items()}


_IN_TORCH = ("torch", "torch.functional")
_KINDS = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType,
    types.WrapperDescriptorType,
)  # fmt: skip


def _functions(namespace: Any) -> Iterator[tuple[str, Any]]:
    for name, function in list(namespace.items()):
        is_private = name.startswith("_") and not name.startswith("__")
        if not is_private and isinstance(function, _KINDS):
            yield name, function


@functools.lru_cache(maxsize=1)
def _aten() -> frozenset[str]:
    return frozenset(
        name.partition(".")[2] for name in registered_names() if name.startswith("aten.")
    )


@functools.lru_cache(maxsize=1)
def _of_torch() -> frozenset[str]:
    """Return the names of the operations that are functions of ``torch`` itself."""
    own: Any = torch._C
    return frozenset(dir(own._VariableFunctions)) | frozenset(vars(torch.functional))


def _base(name: str) -> str:
    return name.partition("::")[2].partition(".")[0]
