"""Names for autograd nodes: the module they ran in and the tensors they saved.

RUNS IN the training process, when a finding in backward is reported.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from zentracer.frameworks.pytorch.finite import readable_tensor
from zentracer.frameworks.pytorch.modules import modules_running, owner_of, root_modules
from zentracer.frameworks.pytorch.nodes import saved
from zentracer.frameworks.pytorch.trail import Site
from zentracer.wire.messages import Location

_SAVED = "_saved_"
_MAX_NODES = 4096
_MOVES = frozenset(
    """
    T Transpose Permute View Reshape ReshapeAlias Expand ToCopy Unsqueeze
    """.split()
)


def nowhere() -> Location:
    """Return the location of a line that is not known."""
    return Location(path="<unknown>", line=0)


def saved_tensors(node: Any) -> tuple[tuple[str | None, Tensor], ...]:
    """Return what ``node`` saved in forward, by its own names (self, other, result …)."""
    found: list[tuple[str | None, Tensor]] = []
    for attribute in dir(node):
        if not attribute.startswith(_SAVED):
            continue
        value = saved(node, attribute[len(_SAVED) :])
        readable = readable_tensor(value) if isinstance(value, Tensor) else None
        if readable is not None:
            found.append((f"saved {attribute[len(_SAVED) :]}", readable.detach()))
    return tuple(found)


def module_of(node: Any, site: Site | None) -> str | None:
    """Return the qualified name of the module in whose forward ``node`` was made.

    A node that uses parameters names its module by them. Otherwise the modules whose forward is
    the code at ``site`` are candidates, and the nearest parameters below the node choose.
    """
    roots = root_modules()
    own = next((owner_of(p, roots) for p in _own_parameters(node)), None)
    if own is not None:
        return own.module_name or type(own.module).__name__
    if site is None:
        return None
    candidates = [name for name, _ in modules_running(site.code, roots)]
    if len(candidates) <= 1:
        return candidates[0] if candidates else None
    for parameter in _parameters(node, depth=_MAX_NODES):
        owner = owner_of(parameter, roots)
        inside = [c for c in candidates if owner and f"{owner.name}.".startswith(f"{c}.")]
        if inside:
            return max(inside, key=len)
    return None


def _own_parameters(node: Any) -> list[Tensor]:
    """Return the leaves that ``node`` uses itself, at most moved or reshaped on the way."""
    found: list[Tensor] = []
    for edge in node.next_functions:
        below = edge[0]
        for _ in range(4):
            if below is None or below.name().split("Backward")[0] not in _MOVES:
                break
            below = below.next_functions[0][0] if below.next_functions else None
        if below is not None and hasattr(below, "variable"):
            found.append(below.variable)
    return found


def _parameters(node: Any, depth: int) -> list[Tensor]:
    """Return the leaves that ``node`` leads to, nearest first, looking at ``depth`` levels."""
    level, seen, found = [node], {node}, []
    for _ in range(depth):
        following = [e[0] for n in level for e in n.next_functions if e[0] is not None]
        level = [n for n in dict.fromkeys(following) if n not in seen]
        seen.update(level)
        found += [n.variable for n in level if hasattr(n, "variable")]
        if not level or len(seen) > _MAX_NODES:
            break
    return found
