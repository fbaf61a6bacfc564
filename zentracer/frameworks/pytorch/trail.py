"""Which source line made an autograd node.

RUNS IN the training process. Autograd numbers the nodes of a thread one after another. Noting
that number before and after each torch call ties every node, also those made inside composite
operations, to the line that ran, without touching a node. Nodes made on threads other than the
one that owns the trail carry their site in ``metadata``.
"""

from __future__ import annotations

import bisect
import types
from typing import Any, Callable, NamedTuple

import torch

sequence_number: Callable[[], int] = torch._C._autograd._get_sequence_nr  # type: ignore[attr-defined]
METADATA_KEY = "zentracer.site"
_CAPACITY = 200_000
_NESTED = 1000


class Site(NamedTuple):
    """A position in user code: instruction ``lasti`` of ``code``."""

    code: types.CodeType
    lasti: int
    op: str
    """The torch call that ran there, by its plain name."""
    compiled: bool = False
    """Whether the call entered a compiled region, whose inner lines are not known."""


class Trail:
    """Bounded record of (sequence interval -> site) of one thread."""

    def __init__(self) -> None:
        self._ends: list[int] = []
        self._starts: list[int] = []
        self._sites: list[Site] = []
        self.dropped = 0

    def note(self, start: int, end: int, site: Site) -> None:
        """Record that the nodes numbered ``start`` to ``end - 1`` were made at ``site``."""
        self._ends.append(end)
        self._starts.append(start)
        self._sites.append(site)
        if len(self._ends) > _CAPACITY:
            half = _CAPACITY // 2
            del self._ends[:half], self._starts[:half], self._sites[:half]
            self.dropped += half

    def find(self, number: int) -> Site | None:
        """Return the site that made the node with this sequence number, if it is known."""
        first = bisect.bisect_right(self._ends, number)
        for index in range(first, min(first + _NESTED, len(self._ends))):
            if self._starts[index] <= number:  # the inner ones of nested intervals come first
                return self._sites[index]
        return None

    def __len__(self) -> int:
        return len(self._ends)


def mark_nodes(outputs: Any, site: Site) -> None:
    """Tie the nodes of ``outputs`` to ``site`` where the trail of this thread does not serve."""
    for out in outputs:
        node = out.grad_fn
        if node is not None:
            node.metadata.setdefault(METADATA_KEY, site)
