"""``summary(value)``: the one line that a value gets in Variables, watch, hover and console.

RUNS IN the user's training process.
"""

from __future__ import annotations

from typing import Any, Callable, Dict

from zentracer.observe.kinds import NUMPY, TORCH
from zentracer.observe.stats import error_text
from zentracer.present.arrays import summarise_array
from zentracer.present.kinds import MODULE, NODE, OPTIMIZER, ROW, STORAGE, kind_of
from zentracer.present.modules import summarise_module
from zentracer.present.nodes import summarise_node
from zentracer.present.optimizers import summarise_optimizer
from zentracer.present.storages import summarise_storage

_SUMMARIES: Dict[str, Callable[[Any], str]] = {
    MODULE: summarise_module,
    NODE: summarise_node,
    NUMPY: summarise_array,
    OPTIMIZER: summarise_optimizer,
    ROW: lambda row: row.text,
    STORAGE: summarise_storage,
    TORCH: summarise_array,
}


def summary(value: Any) -> str:
    """One line about a value of a kind that is ours; never raises, never shows elements' repr.

    Args:
        value: A tensor, array, module, storage, optimiser, autograd node or row of ours. Any
            other value gets the name of its type.
    """
    make = _SUMMARIES.get(kind_of(type(value)))
    if make is None:
        return type(value).__name__
    try:
        return make(value)
    except Exception as error:  # half-built objects: __init__ has not finished yet
        return f"{type(value).__name__} (not readable: {error_text(error)})"
