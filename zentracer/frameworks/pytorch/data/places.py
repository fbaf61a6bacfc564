"""Whether something has become of what is watched that no torch call would tell of.

RUNS IN the training process, at calls of torch. Compares pointers only.
"""

from __future__ import annotations

from typing import Iterable

from zentracer.frameworks.pytorch.data.pace import Pace
from zentracer.frameworks.pytorch.data.source import Source
from zentracer.watches.paths import MISSING


class Places:
    """The places of all sources: each may hold another tensor, each tensor may be freed."""

    def __init__(self) -> None:
        self._sources: tuple[Source, ...] = ()
        self._pace = Pace()
        self.are_assigned_unseen = False
        """Whether some can be bound anew by an assignment that is not seen as it happens."""

    def set(self, sources: Iterable[Source]) -> None:
        """Look at exactly these."""
        self._sources = tuple(sources)
        self.are_assigned_unseen = any(map(_is_assigned_unseen, self._sources))

    def have_changed(self) -> bool:
        """Tell whether one has; False, too, where there is no time to look."""
        if not self._sources or not self._pace.may():
            return False
        with self._pace:
            return any(map(_has_changed, self._sources))


def _is_assigned_unseen(source: Source) -> bool:
    """Attributes of modules and gradients are seen, attributes of others and entries are not."""
    holder = source.holder
    return holder is not None and not holder.module_attribute and not holder.is_gradient


def _has_changed(source: Source) -> bool:
    return source.is_gone or (_is_assigned_unseen(source) and source.rebound() is not MISSING)
