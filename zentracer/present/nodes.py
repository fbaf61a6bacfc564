"""How autograd nodes read: what comes next, and what is saved for backward.

RUNS IN the user's training process.
"""

from __future__ import annotations

from typing import Any, Iterable, List, Tuple

from zentracer.observe.stats import error_text
from zentracer.present.rows import Child, Lazy, Text


def summarise_node(node: Any) -> str:
    """``LogBackward0 · next SqrtBackward0, AccumulateGrad``."""
    names = [type(below).__name__ for below, _slot in _next(node) if below is not None]
    text = type(node).__name__
    if names:
        text += f" · next {', '.join(names[:4])}{', …' if len(names) > 4 else ''}"
    return text


def node_children(node: Any) -> List[Child]:
    """Name, next functions, saved tensors (unpacking them may run hooks), metadata."""
    rows: List[Child] = [("name", Text(type(node).__name__), None)]
    for at, (below, _slot) in enumerate(_next(node)):
        rows.append((f"next_functions[{at}]", below, f".next_functions[{at}][0]"))
    for name in dir(type(node)):
        if name == "variable":
            rows.append((name, node.variable, ".variable"))
        elif name.startswith("_saved_") or name == "saved_tensors":
            rows.append((name, _saved(node, name), f".{name}"))
    try:
        rows.append(("metadata", node.metadata, ".metadata"))
    except Exception as error:  # a node whose graph was freed
        rows.append(("metadata", Text(f"not available: {error_text(error)}"), None))
    return rows


def _saved(node: Any, name: str) -> Lazy:
    return Lazy("saved for backward", name, lambda: getattr(node, name))


def _next(node: Any) -> Iterable[Tuple[Any, int]]:
    try:
        return list(node.next_functions)
    except Exception:  # a node whose graph was freed
        return []
