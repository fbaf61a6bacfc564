"""Which torch functions write into tensors, and into which of their arguments.

RUNS IN the training process. Decided once for each function, when it is first called.
"""

from __future__ import annotations

import inspect
from typing import Any, Callable, Iterator

import torch
from torch import Tensor

from zentracer.frameworks.pytorch.finite import tensors_in
from zentracer.frameworks.pytorch.plans import is_in_place, readable

Writes = Callable[["tuple[Any, ...]", "dict[str, Any]"], "Iterator[Tensor]"]
"""Yields the tensors into which a call with these arguments has written, or may have."""

HIDDEN = frozenset(
    """
    batch_norm instance_norm native_batch_norm cudnn_batch_norm miopen_batch_norm
    _native_batch_norm_legit _batch_norm_with_update batch_norm_update_stats
    batch_norm_gather_stats batch_norm_gather_stats_with_counts embedding embedding_bag
    fused_moving_avg_obs_fake_quant _fused_moving_avg_obs_fq_helper
    """.split()
)
"""They write into some of their arguments without saying so in their names."""
_EXPOSING = frozenset(
    """
    numpy __array__ untyped_storage storage _typed_storage data_ptr __dlpack__ share_memory_
    """.split()
)
"""After these, somebody may write without torch's counting it."""
_SETTERS = ("__set__", "__delete__")
_CONTENT_SETTERS = frozenset({"data", "real", "imag"})


def sets_gradient(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Tensor]:
    """Yield nothing: ``x.grad = …`` writes into no tensor, it binds another one."""
    yield from ()


def exposes(function: Any) -> bool:
    """Tell whether a function hands out the memory of its argument."""
    return getattr(function, "__name__", "") in _EXPOSING


def is_internal(function: Any) -> bool:
    """Tell whether a function is none that a user would know as a place: those of profiling …"""
    name = getattr(function, "__name__", "")
    return name.startswith("_") and not name.endswith("__")


def writes_of(function: Any) -> Writes | None:
    """Return into what a function writes; None if it only reads."""
    name = getattr(function, "__name__", None) or ""
    if name in _SETTERS:
        attribute = getattr(getattr(function, "__self__", None), "__name__", "")
        if attribute == "grad":
            return sets_gradient
        return _first if attribute in _CONTENT_SETTERS else None
    schemas = _schemas(function)
    if schemas:
        return _by_schema(schemas)
    if name in ("embedding", "embedding_bag"):
        return _renormalised
    if name in HIDDEN or name.startswith("_fused_"):
        return _any
    if name == "__setitem__" or is_in_place(name):
        return _first
    at = _inplace_position(function)
    if at is not None:
        return lambda args, kwargs: (
            _first(args, kwargs) if kwargs.get("inplace", len(args) > at and args[at]) else iter(())
        )
    return None


def op_name(function: Any) -> str:
    """Return how the user would call a writing function: ``add_``, ``[...] =``, ``.data =``."""
    name = str(getattr(function, "__name__", None) or type(function).__name__)
    if name in _SETTERS:
        return f".{getattr(function.__self__, '__name__', 'data')} ="
    if name == "__get__":
        return f".{getattr(function.__self__, '__name__', '')}"
    if name == "__setitem__":
        return "x[...] ="
    if _schemas(function):
        return name.partition(".")[0]
    if name.startswith("__i") and name.endswith("__"):
        return f"{readable(name)}_"
    return name


def _first(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Tensor]:
    """The first argument, be it a list; functions of ``torch.nn.init`` get it by name."""
    yield from tensors_in(args[0] if args else list(kwargs.values()), depth=1)
    yield from writes_out(args, kwargs)


def _any(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Tensor]:
    yield from tensors_in([list(args), kwargs])


def writes_out(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Tensor]:
    """Yield what a call got as ``out``."""
    if kwargs and "out" in kwargs:
        yield from tensors_in(kwargs["out"], depth=1)


def _renormalised(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Tensor]:
    """An embedding with ``max_norm`` scales the rows that it looks up."""
    if kwargs.get("max_norm") is not None or any(isinstance(a, float) for a in args):
        yield from _any(args, kwargs)


def _by_schema(schemas: list[Any]) -> Writes | None:
    names = {
        (at, argument.name)
        for schema in schemas
        for at, argument in enumerate(schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    }
    base = schemas[0].name.rpartition("::")[2]
    if not names:
        return _any if base in HIDDEN else None

    def written(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Tensor]:
        for at, name in names:
            value = args[at] if at < len(args) else kwargs.get(name)
            yield from tensors_in(value, depth=1)

    return written


def _schemas(function: Any) -> list[Any]:
    """Return the schemas of an operator of ``torch.ops``."""
    if isinstance(function, torch._ops.OpOverload):
        return [function._schema]
    if isinstance(function, torch._ops.OpOverloadPacket):
        return [getattr(function, name)._schema for name in function.overloads()]
    return []


def _inplace_position(function: Any) -> int | None:
    if not inspect.isfunction(function):
        return None
    names = list(inspect.signature(function).parameters)
    return names.index("inplace") if "inplace" in names else None
