"""Describes a call of the autograd engine to detectors.

RUNS IN the training process, before each backward pass.
"""

from __future__ import annotations

import types
import weakref
from typing import TYPE_CHECKING, Any

from zentracer.frameworks.pytorch.training.events import Backward, leaves_of
from zentracer.frameworks.pytorch.unseen import unseen

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.watch import Watch

_LEAVES_ANEW = 20
"""Backward passes from one place after which its leaves are looked up again."""
_MAX_SITES = 256
"""Places whose leaves are remembered."""


class Passes:
    """Remembers which leaves a graph has, by the place that backward is called from."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._leaves: dict[Any, tuple[int, tuple[Any, ...]]] = {}

    def forget(self) -> None:
        """Remember nothing."""
        self._leaves.clear()

    def event(
        self, roots: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any],
        frame: types.FrameType | None, *, wants_leaves: bool,
    ) -> Backward:  # fmt: skip
        """Return what detectors are told of a call of ``run_backward``.

        Args:
            roots: Tensors or gradient edges it starts from.
            args: Its other positional arguments: gradients, retain_graph, create_graph, inputs.
            kwargs: Its keyword arguments.
            frame: The user's frame.
            wants_leaves: Whether a detector needs the leaves of the graph.
        """
        inputs = args[3] if len(args) > 3 else kwargs.get("inputs")
        scaler = self._watch.scaler() if self._watch.scaler is not None else None
        event = Backward(
            roots=tuple(roots),
            inputs=tuple(inputs or ()),
            accumulates=bool(kwargs.get("accumulate_grad")),
            create_graph=bool(args[2]) if len(args) > 2 else False,
            frame=frame,
            scale=_scale_of(scaler),
        )
        if wants_leaves:
            event.leaves = self._leaves_for(event)
        return event

    def _leaves_for(self, event: Backward) -> tuple[Any, ...]:
        """Return the leaves of a graph, as found the last time the same line was reached."""
        if event.site not in self._leaves and len(self._leaves) >= _MAX_SITES:
            self._leaves.clear()
        count, known = self._leaves.get(event.site, (0, ()))
        leaves = tuple(ref() for ref in known)
        # (``None not in leaves`` would compare each tensor with None, which is slow.)
        if count > 1 and count % _LEAVES_ANEW and all(leaf is not None for leaf in leaves):
            self._leaves[event.site] = (count + 1, known)
            return leaves
        with unseen():
            found = leaves_of(event.roots)
        self._leaves[event.site] = (count + 1, tuple(map(weakref.ref, found)))
        return found


def _scale_of(scaler: Any) -> float:
    """Return the factor of a gradient scaler, as far as it is known without waiting."""
    scale = getattr(scaler, "_scale", None)
    if scale is None or not scale.is_cpu:
        return 1.0
    return float(scale) or 1.0
