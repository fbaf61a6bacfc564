"""Whether something has become of what is watched that no torch call would tell of.

RUNS IN the training process, at calls of torch. Compares pointers only.
"""

from __future__ import annotations

from typing import Iterable

from zentracer.frameworks.pytorch.data.pace import Pace
from zentracer.frameworks.pytorch.data.source import Source
from zentracer.watches.paths import MISSING

_AT_ONCE = 32
"""Places that are looked at in one torch call."""


class Places:
    """The places of all sources: each may hold another tensor, each tensor may be freed."""

    def __init__(self) -> None:
        self._sources: tuple[Source, ...] = ()
        self._next = 0
        self._pace = Pace()
        self.are_assigned_unseen = False
        """Whether some can be bound anew by an assignment that is not seen as it happens."""

    def set(self, sources: Iterable[Source]) -> None:
        """Look at exactly these."""
        self._sources, self._next = tuple(sources), 0
        self.are_assigned_unseen = any(map(_is_assigned_unseen, self._sources))

    def have_changed(self) -> bool:
        """Tell whether one has; of many, some are looked at each time, while there is time."""
        if not self._sources or not self._pace.may():
            return False
        at = self._next
        with self._pace:
            changed = any(map(_has_changed, self._sources[at : at + _AT_ONCE]))
        if not changed:  # else it is to be found again when it is asked for
            self._next = at + _AT_ONCE if at + _AT_ONCE < len(self._sources) else 0
        return changed


def _is_assigned_unseen(source: Source) -> bool:
    """Attributes of modules and gradients are seen, attributes of others and entries are not."""
    holder = source.holder
    return holder is not None and not holder.module_attribute and not holder.is_gradient


def _has_changed(source: Source) -> bool:
    return source.is_gone or (_is_assigned_unseen(source) and source.rebound() is not MISSING)
