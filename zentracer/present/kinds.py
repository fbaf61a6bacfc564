"""Which of our presentations a type gets, told from its name and decided once a type.

RUNS IN the user's training process. Standard library only: nothing is imported to find out.
"""

from __future__ import annotations

import functools

from zentracer.observe.kinds import NUMPY, TORCH, array_kind
from zentracer.present.rows import Row

MODULE = "module"
NODE = "node"
OPTIMIZER = "optimizer"
ROW = "row"
STORAGE = "storage"

_BY_NAME = {
    ("torch.nn.modules.module", "Module"): MODULE,
    ("torch.optim.optimizer", "Optimizer"): OPTIMIZER,
    ("torch.storage", "TypedStorage"): STORAGE,
    ("torch.storage", "UntypedStorage"): STORAGE,
}


def kind_of(type_object: type) -> str:
    """The kind of a type, the empty string for everything that is not ours; never raises."""
    try:
        return _kind(type_object)
    except Exception:  # a metaclass of the user's may break hashing or attribute access
        return ""


@functools.cache
def _kind(type_object: type) -> str:
    array = array_kind(type_object)
    if array:
        return array
    if issubclass(type_object, Row):
        return ROW
    for base in type_object.__mro__:
        kind = _BY_NAME.get((base.__module__, base.__name__))
        if kind:
            return kind
    return NODE if _is_autograd_node(type_object) else ""


def is_array(value: object) -> bool:
    """Whether ``value`` is a tensor or an array."""
    return kind_of(type(value)) in (TORCH, NUMPY)


def _is_autograd_node(type_object: type) -> bool:
    """C++ nodes have no common base class; their types define these two getters."""
    return any(
        "next_functions" in base.__dict__ and "metadata" in base.__dict__
        for base in type_object.__mro__
    )
