"""Reading an expression again without running any of the user's code.

RUNS IN the user's training process. Only plain paths can be read so: a name, attributes that are
no properties, and constant indices, such as ``self.layers[0].weight`` or ``model.fc.bias.grad``.
"""

from __future__ import annotations

import ast
import types
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Tuple

from zentracer.observe.kinds import NUMPY, TORCH, array_kind
from zentracer.observe.quiet import quiet
from zentracer.present.kinds import MODULE, kind_of

MISSING = object()
"""What is read of a path that leads nowhere, or only through the user's code."""
_MODULE_TABLES = ("_parameters", "_buffers", "_modules")
_CONTAINERS = "torch.nn.modules.container"


Step = Tuple[Callable[[Any, Any], Any], Any]
"""How to go on from an object: a reader, ``attribute`` or ``item``, and its argument."""


class Path(NamedTuple):
    """A name, and how to go on from its value."""

    name: str
    steps: Tuple[Step, ...]
    """One for each attribute and each index."""


def parse(expression: str) -> Optional[Path]:
    """Return the path that ``expression`` is, None if it is more than that."""
    try:
        node: ast.AST = ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    steps = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            steps.append((attribute, node.attr))
            node = node.value
        elif isinstance(node, ast.Subscript):
            try:
                steps.append((item, _constant(node.slice)))
            except ValueError:
                return None
            node = node.value
        else:
            return None
    return Path(node.id, tuple(reversed(steps)))


def read(path: Path, names: Mapping[str, Any], scope: Mapping[str, Any]) -> Any:
    """Return the value of ``path``, or ``MISSING``.

    Args:
        path: What ``parse`` has returned.
        names: The local variables.
        scope: The global ones.
    """
    value = names.get(path.name, MISSING)
    if value is MISSING:
        value = scope.get(path.name, MISSING)
    for reader, argument in path.steps:
        if value is MISSING:
            break
        value = reader(value, argument)
    return value


def attribute(obj: Any, name: str) -> Any:
    """Return an attribute that is no property, or ``MISSING``."""
    kind = type(obj)
    if array_kind(kind) == TORCH:
        return _of_tensor(obj, name)
    own = _instance_dict(obj)
    if own is None:
        return MISSING
    for base in kind.__mro__:
        if name not in base.__dict__:
            continue
        found = base.__dict__[name]
        if isinstance(found, types.MemberDescriptorType):
            return _slot(found, obj)
        if hasattr(type(found), "__set__"):
            return MISSING  # a property, or something like it
        if name in own:
            return own[name]
        return MISSING if hasattr(type(found), "__get__") else found
    if name in own:
        return own[name]
    return _of_module(own, name) if kind_of(kind) == MODULE else MISSING


def _instance_dict(obj: Any) -> Optional[Dict[str, Any]]:
    """The attributes of an instance whose class finds them in the usual way."""
    if type(obj).__getattribute__ not in (
        object.__getattribute__,
        types.ModuleType.__getattribute__,
        types.SimpleNamespace.__getattribute__,
    ):
        return None
    try:
        return object.__getattribute__(obj, "__dict__")
    except AttributeError:
        return {}  # slots only


def _slot(found: types.MemberDescriptorType, obj: Any) -> Any:
    try:
        return found.__get__(obj)
    except AttributeError:  # nothing is in it
        return MISSING


def _of_module(own: Dict[str, Any], name: str) -> Any:
    for table in _MODULE_TABLES:
        entries = own.get(table)
        if isinstance(entries, dict) and name in entries:
            return entries[name]
    return MISSING


def _of_tensor(tensor: Any, name: str) -> Any:
    """The gradient; asking a tensor that keeps none would warn."""
    if name != "grad":
        return MISSING
    with quiet():
        has_grad = tensor.is_leaf or tensor.retains_grad
        return tensor.grad if has_grad else MISSING


def item(obj: Any, index: Any) -> Any:
    """Return what is at a constant index, or ``MISSING``."""
    kind = type(obj)
    try:
        if kind in (list, tuple, dict):
            return obj[index]
        if array_kind(kind) == TORCH:
            with quiet():
                return obj[index]
        if array_kind(kind) == NUMPY and kind.__module__ == "numpy":
            return obj[index]
        if kind_of(kind) == MODULE:
            return _of_container(obj, index)
    except (LookupError, TypeError, ValueError, RuntimeError):
        pass  # the container is shorter now, or has changed its type
    return MISSING


def _of_container(module: Any, index: Any) -> Any:
    """A child of ``Sequential``, ``ModuleList`` and their kin, whose order is that of the table."""
    getter = getattr(type(module), "__getitem__", None)
    children = (_instance_dict(module) or {}).get("_modules")
    if getattr(getter, "__module__", "") != _CONTAINERS or not isinstance(children, dict):
        return MISSING
    if isinstance(index, str):
        return children.get(index, MISSING)
    return list(children.values())[index] if type(index) is int else MISSING


def _constant(node: ast.AST) -> Any:
    """The index that is written there.

    Raises:
        ValueError: It is not constant.
    """
    if isinstance(node, ast.Slice):
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if part is None else _constant(part) for part in parts))
    if isinstance(node, ast.Tuple):
        return tuple(map(_constant, node.elts))
    value = ast.literal_eval(node)
    if value is not None and not isinstance(value, (int, str, type(...))):
        raise ValueError("no index")
    return value
