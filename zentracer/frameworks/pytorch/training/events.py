"""What happens in a training, as detectors are told of it.

RUNS IN the training process.
"""

from __future__ import annotations

import functools
import types
from dataclasses import dataclass, field
from typing import Any, Iterable

from torch import Tensor

from zentracer.frameworks.pytorch.frames import user_frame, user_frames

_CALLERS = 4
"""How many of the user's frames tell one call of backward from another."""
_NODES = 3
"""How many of the last operations do."""


@dataclass
class Backward:
    """One call of the autograd engine."""

    roots: tuple[Any, ...]
    """Tensors or gradient edges it starts from."""
    inputs: tuple[Any, ...]
    """What gradients are asked for, in ``autograd.grad`` and ``backward(inputs=…)``; else empty."""
    accumulates: bool
    """Whether gradients are added to ``.grad``."""
    create_graph: bool
    frame: types.FrameType | None
    """The user's frame at the call."""
    scale: float = 1.0
    """What a gradient scaler has multiplied the loss by; gradients are as much larger."""
    leaves: tuple[Tensor, ...] = ()
    """Leaves that the graph leads to."""
    result: Any = None
    """Once it has ended: the gradients asked for, None where there is none."""
    shared: dict[Any, Any] = field(default_factory=dict)
    """What several detectors need of this pass, by the one that computed it."""

    @functools.cached_property
    def site(self) -> tuple[int, ...]:
        """The same for every call from one place in the program, on behalf of the same callers.

        One helper that calls backward for two networks is two sites, and so are two kinds of loss
        that take turns on one line.
        """
        key: list[int] = []
        for user in user_frames(self.frame, limit=_CALLERS):
            key += (id(user.f_code), user.f_lasti)
        node = node_of(self.roots[0]) if self.roots else None
        for _ in range(_NODES):
            if node is None:
                break
            key.append(id(type(node)))
            node = node.next_functions[0][0] if node.next_functions else None
        return tuple(key)


@dataclass
class Update:
    """One step of an optimiser."""

    optimizer: Any
    frame: types.FrameType | None
    """The user's frame at the call."""
    number: int = 0
    """Steps that this optimiser completed before."""
    is_step: bool = False
    """Once it has ended: whether it completed a training step (of several optimisers, one does)."""
    parameters: list[Tensor] = field(default_factory=list)
    """All it owns."""


def parameters_of(optimizer: Any) -> list[Tensor]:
    """Return all that an optimiser owns."""
    return [p for group in optimizer.param_groups for p in group["params"]]


def leaves_of(roots: Iterable[Any]) -> tuple[Tensor, ...]:
    """Return the leaves that the graph behind ``roots`` leads to, nearest to the roots first."""
    stack = [node for root in roots if (node := node_of(root)) is not None]
    seen, found = set(stack), []
    while stack:
        node = stack.pop()
        variable = leaf_of(node)
        if variable is not None:
            found.append(variable)
            continue
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                stack.append(following)
    return tuple(found)


def leaf_of(node: Any) -> Any:
    """Return the leaf in which gradients end at ``node``; None if they go on.

    A custom Function may have an attribute of that name, too, but it always leads on.
    """
    return getattr(node, "variable", None) if not node.next_functions else None


def node_of(root: Any) -> Any:
    """Return the node of a tensor or gradient edge."""
    return root.grad_fn if isinstance(root, Tensor) else getattr(root, "node", None)


def calling(frame: types.FrameType | None) -> types.FrameType | None:
    """Return the user's frame from ``frame`` outwards."""
    return user_frame(frame)
