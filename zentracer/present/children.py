"""``children(value)``: the rows below a value, ordered.

RUNS IN the user's training process.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List

from zentracer.observe.kinds import NUMPY, TORCH
from zentracer.observe.stats import error_text
from zentracer.present.array_children import array_children
from zentracer.present.kinds import MODULE, NODE, OPTIMIZER, ROW, STORAGE, kind_of
from zentracer.present.modules import module_children
from zentracer.present.nodes import node_children
from zentracer.present.optimizers import optimizer_children
from zentracer.present.rows import Child, Text
from zentracer.present.storages import storage_children

_CHILDREN: Dict[str, Callable[[Any], List[Child]]] = {
    MODULE: module_children,
    NODE: node_children,
    NUMPY: array_children,
    OPTIMIZER: optimizer_children,
    ROW: lambda row: row.children(),
    STORAGE: storage_children,
    TORCH: array_children,
}


def children(value: Any) -> List[Child]:
    """Name, value and expression suffix of each row below ``value``; never raises."""
    make = _CHILDREN.get(kind_of(type(value)))
    if make is None:
        return []
    try:
        return make(value)
    except Exception as error:  # half-built objects: __init__ has not finished yet
        return [("not readable", Text(error_text(error)), None)]
