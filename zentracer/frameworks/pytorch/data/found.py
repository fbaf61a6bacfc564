"""What has changed of what is watched, and what has told of it.

RUNS IN the training process.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from zentracer.frameworks.pytorch.data.target import Change, Target
from zentracer.frameworks.pytorch.data.writer import Site


class Look(NamedTuple):
    """When and where contents were compared."""

    number: int
    """Counts up."""
    site: Optional[Site]
    """Of the user's line; None where that is not known."""


class Found(NamedTuple):
    """A target that has changed."""

    target: Target
    change: Change
    is_rebound: bool = False
    """Whether its place holds another tensor now."""
    by_content: bool = False
    """Whether nothing but its content has told so."""
    is_counted: bool = False
    """Whether torch would have counted a write of its own, be it in code that is compiled."""
    since: Optional[Look] = None
    """When its content was as it had been, if nothing else has told."""

    def is_within(self, started: int, *, counts: bool) -> bool:
        """Tell whether it was written within a backward pass or an update that has ended.

        Args:
            started: number of the look at its start.
            counts: whether all that it writes is counted by torch.
        """
        if not self.by_content:
            return not self.is_rebound or self.target.source.is_gradient
        if self.is_counted and counts:
            return False
        return self.since is not None and self.since.number >= started
