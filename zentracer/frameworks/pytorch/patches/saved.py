"""Whether a backward pass that is still to come needs what is about to be changed.

RUNS IN the training process, on the stopped thread, inside ``unseen()``. Autograd keeps tensors of
the forward pass; when one of them has changed by the time it is used, backward raises. What is
looked through are the graphs that the running calls can reach by their variables.
"""

from __future__ import annotations

import types
from typing import Any, Iterator

from torch import Tensor

from zentracer.frameworks.pytorch.data.ranges import Range
from zentracer.frameworks.pytorch.data.source import range_of
from zentracer.frameworks.pytorch.frames import variables
from zentracer.frameworks.pytorch.nodes import saved
from zentracer.observe.kinds import TORCH, array_kind

_SAVED = "_raw_saved_"
_MAX_NODES = 50_000
_MAX_ENTRIES = 200
"""Entries of a container, attributes of an object, that are looked at for graphs."""
_DEPTH = 3


def needed_by(memory: Range, frame: types.FrameType | None) -> str | None:
    """Return the operation whose gradient needs what is in ``memory``; None if there is none.

    Args:
        memory: addresses between the first and the last element.
        frame: the innermost frame of the calls that run.
    """
    seen: set[Any] = set()
    todo = [_node_of(x) for x in _tensors(frame)]
    while todo and len(seen) < _MAX_NODES:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if _has_saved(node, memory):
            return str(node.name()).partition("Backward")[0]
        todo += [following for following, _ in node.next_functions]
    return None


def _node_of(x: Tensor) -> Any:
    try:
        return x.grad_fn
    except RuntimeError:  # a view whose base has changed in a way that autograd does not allow
        return None


def _has_saved(node: Any, memory: Range) -> bool:
    for attribute in dir(node):
        if not attribute.startswith(_SAVED):
            continue
        value = saved(node, attribute[len(_SAVED) :])
        for x in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(x, Tensor) and _overlaps(range_of(x), memory):
                return True
    for x in getattr(node, "saved_tensors", ()) if _is_custom(node) else ():
        if isinstance(x, Tensor) and _overlaps(range_of(x), memory):
            return True
    return False


def _is_custom(node: Any) -> bool:
    """Tell whether a node is that of a ``Function`` of the user's, which keeps them itself."""
    return hasattr(type(node), "_forward_cls") or hasattr(node, "to_save")


def _overlaps(one: Range | None, other: Range) -> bool:
    return one is not None and one[0] < other[1] and other[0] < one[1]


def _has_attributes(value: Any) -> bool:
    if isinstance(value, (types.ModuleType, type)) or type(value).__module__ == "builtins":
        return False
    return isinstance(getattr(value, "__dict__", None), dict)


def _tensors(frame: types.FrameType | None) -> Iterator[Tensor]:
    known: set[int] = set()
    while frame is not None:
        for value in list(variables(frame).values()):
            yield from _within(value, _DEPTH, known)
        frame = frame.f_back


def _within(value: Any, depth: int, known: set[int]) -> Iterator[Tensor]:
    kind = type(value)
    if array_kind(kind) == TORCH:
        yield value
        return
    if not depth or id(value) in known:
        return
    if kind in (list, tuple, set):
        entries = list(value)[-_MAX_ENTRIES:]  # the newest are the last
    elif issubclass(kind, dict):
        entries = list(dict.values(value))[-_MAX_ENTRIES:]
    elif _has_attributes(value):
        entries = list(value.__dict__.values())[:_MAX_ENTRIES]
    else:
        return
    known.add(id(value))
    for entry in entries:
        yield from _within(entry, depth - 1, known)
