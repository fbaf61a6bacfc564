"""The autograd graph that a failing backward ran through.

RUNS IN the training process, when an exception is explained. Only edges and metadata are read;
saved tensors are left alone, since unpacking them may run the user's own hooks.
"""

from __future__ import annotations

from typing import Any, Iterator

from torch import Tensor

from zentracer.frameworks.pytorch.errors.failure import Failure, plain_locals
from zentracer.frameworks.pytorch.errors.lookup import is_tensor, tensors_in
from zentracer.frameworks.pytorch.trail import Site

_MOST = 50_000
_ROOTS = ("self", "tensors", "outputs")


def roots_of(failure: Failure) -> list[Tensor]:
    """Return the tensors that backward was called on."""
    for spot in failure.inner:
        if spot.is_ours:
            given = spot.frame.f_locals.get("args")
            found = [x for x in tensors_in(given) if x.grad_fn is not None]
        else:
            arguments = plain_locals(spot)
            found = [
                x
                for name in _ROOTS
                for x in tensors_in(arguments.get(name))
                if is_tensor(x) and x.grad_fn is not None
            ]
        if found:
            return found
    return []


def nodes_of(roots: list[Tensor]) -> Iterator[Any]:
    """Yield the nodes that the gradients of ``roots`` flow through, nearest first."""
    level = [root.grad_fn for root in roots if root.grad_fn is not None]
    seen: set[Any] = set(level)
    while level and len(seen) < _MOST:
        yield from level
        following = [edge[0] for node in level for edge in node.next_functions]
        level = []
        for node in following:
            if node is not None and node not in seen:
                seen.add(node)
                level.append(node)


def site_of(failure: Failure, node: Any) -> Site | None:
    """Return where ``node`` was made, if the armed watch has noted it."""
    return failure.watch.site_of_node(node) if failure.watch is not None else None
