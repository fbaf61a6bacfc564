"""Values of expressions, looked up without running anything of the user's.

RUNS IN the training process, when an exception is explained. Names, attributes that an object
holds in its own dictionary, and constant indices of plain containers: no property, no
``__getattr__``, no ``__getitem__`` and no ``__repr__`` runs.
"""

from __future__ import annotations

import ast
import itertools
import types
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Optional

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from typing_extensions import TypeGuard

_attributes = object.__getattribute__
_TABLES = ("_parameters", "_buffers", "_modules")
_MOST = 256
"""Entries of a container that are looked at."""


class Unknown(Exception):
    """The expression cannot be looked up."""


def is_tensor(x: Any) -> TypeGuard[Tensor]:
    """Tell whether ``x`` is a tensor by its type alone: ``isinstance`` asks ``x.__class__``."""
    return issubclass(type(x), Tensor)


def is_module(x: Any) -> TypeGuard[nn.Module]:
    """Tell whether ``x`` is a module by its type alone."""
    return issubclass(type(x), nn.Module)


def value_of(node: ast.AST, frame: types.FrameType) -> Any:
    """Return the value of an expression in ``frame``.

    Raises:
        Unknown: it is more than names, held attributes and constant indices.
    """
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return _named(node.id, frame)
    if isinstance(node, ast.Attribute):
        return held_attribute(value_of(node.value, frame), node.attr)
    if isinstance(node, ast.Subscript):
        return _item(value_of(node.value, frame), _index(node.slice, frame))
    if isinstance(node, (ast.List, ast.Tuple)):
        return [value_of(item, frame) for item in node.elts]
    if isinstance(node, ast.Starred):
        return value_of(node.value, frame)
    raise Unknown


def found(node: Optional[ast.AST], frame: types.FrameType) -> Any:
    """Like ``value_of``, with None for what is not known."""
    if node is None:
        return None
    try:
        return value_of(node, frame)
    except Unknown:
        return None


def held(owner: Any) -> dict[str, Any]:
    """Return the dictionary of an object; empty where it has none."""
    try:
        entries = _attributes(owner, "__dict__")
    except (AttributeError, TypeError):
        return {}
    return entries if type(entries) is dict else {}


def held_attribute(owner: Any, name: str) -> Any:
    """Return an attribute that ``owner`` holds itself, as a module, a namespace or an object.

    Raises:
        Unknown: it holds none of that name.
    """
    try:
        held = _attributes(owner, "__dict__")
    except (AttributeError, TypeError):
        raise Unknown from None
    if type(held) is not dict and not isinstance(held, types.MappingProxyType):
        raise Unknown
    if name in held and not isinstance(owner, type):
        return held[name]
    for table in _TABLES if is_module(owner) else ():
        entries = held.get(table)
        if isinstance(entries, dict) and name in entries:
            return entries[name]
    raise Unknown


def tensors_in(value: Any, depth: int = 3) -> Iterator[Tensor]:
    """Yield the tensors in ``value`` and in plain containers."""
    if is_tensor(value):
        yield value
    elif depth and issubclass(type(value), (list, tuple)):
        kind: Any = tuple if issubclass(type(value), tuple) else list
        for item in itertools.islice(kind.__iter__(value), _MOST):
            yield from tensors_in(item, depth - 1)
    elif depth and type(value) is dict:
        for item in list(value.values())[:_MOST]:
            yield from tensors_in(item, depth - 1)


def code_of(member: Any) -> Optional[types.CodeType]:
    """Return the code of a plain function, None for everything else a class may hold."""
    return member.__code__ if type(member) is types.FunctionType else None


def shape_of(x: Any) -> tuple[int, ...]:
    """Return the shape of a tensor as plain numbers, -1 where a size has none."""
    with torch._C.DisableTorchFunction():
        return tuple(int(size) if type(size) is int else -1 for size in Tensor.size(x))


def _named(name: str, frame: types.FrameType) -> Any:
    for scope in (frame.f_locals, frame.f_globals):
        mapping: Mapping[str, Any] = scope
        if name in mapping:
            return mapping[name]
    raise Unknown


def _index(node: ast.AST, frame: types.FrameType) -> Any:
    if isinstance(node, ast.Index):  # Python 3.8's, which some tools still make
        node = node.value  # type: ignore[attr-defined]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = value_of(node.operand, frame)
        if type(inner) is int:
            return -inner
        raise Unknown
    return value_of(node, frame)


def _item(container: Any, index: Any) -> Any:
    if type(index) not in (int, str):
        raise Unknown
    try:
        if type(container) is dict or (type(container) in (list, tuple) and type(index) is int):
            return container[index]
        if is_module(container) and type(index) is int:
            children = list(held_attribute(container, "_modules").values())
            return children[index]
    except (KeyError, IndexError):
        raise Unknown from None
    raise Unknown
