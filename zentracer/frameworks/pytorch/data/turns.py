"""Whose content is compared next where no version counter tells of a write.

RUNS IN the training process. Whoever has waited longest comes first, and what there is no time for
keeps its turn, so that each is looked at sooner or later.
"""

from __future__ import annotations

from typing import Callable, Iterable, Mapping, NamedTuple, Optional

from torch import Tensor

from zentracer.frameworks.pytorch.data.found import Found, Look
from zentracer.frameworks.pytorch.data.source import Source
from zentracer.frameworks.pytorch.data.target import Change, Target


class Round(NamedTuple):
    """How to look at those whose turn it is."""

    look: Look
    wants: Callable[[Source], bool]
    """Tells whether a source has to be looked at."""
    may: Callable[[], bool]
    """Tells whether there is time for one more target."""
    check: Callable[[Target, Optional[Tensor]], Optional[Change]]
    """Compares a target with what its source holds."""
    is_counted: Callable[[Source], bool]


class Turns:
    """The turns of all sources."""

    def __init__(self) -> None:
        self._waiting: dict[Source, int] = {}
        """Longest first, each with how many of its targets were looked at in this turn."""
        self._began: dict[Source, Look] = {}
        self._known: dict[Source, Look] = {}

    def set(self, sources: Iterable[Source]) -> None:
        """Have exactly these; who is new comes last."""
        wanted = dict.fromkeys(sources)
        for table in (self._waiting, self._began, self._known):
            for source in [one for one in table if one not in wanted]:
                del table[source]
        for source in wanted:
            self._waiting.setdefault(source, 0)

    def seen(self, source: Source, look: Look) -> None:
        """All of it was compared, whoever's turn it was."""
        self._began.pop(source, None)
        self._known[source] = look
        self._comes_last(source)

    def is_known(self, source: Source, look: Look) -> bool:
        """Tell whether all that is watched of a source was compared at a look."""
        known = self._known.get(source)
        return known is not None and known.number == look.number

    def take(self, by_source: Mapping[Source, list[Target]], how: Round) -> list[Found]:
        """Look at one target after the other while there is time; return which have changed."""
        found: list[Found] = []
        for source, done in list(self._waiting.items()):
            if self.is_known(source, how.look) or source.is_gone or not how.wants(source):
                continue
            if not how.may() or not self._take(source, done, by_source[source], how, found):
                break
        return found

    def _take(
        self, source: Source, done: int, targets: list[Target], how: Round, found: list[Found]
    ) -> bool:
        """Go on with the targets of one source; tell whether all have had their turn."""
        whole, since = source.tensor(), self._known.get(source)
        began = self._began.setdefault(source, how.look)
        for at in range(done, len(targets)):
            if at > done and not how.may():
                self._waiting[source] = at  # which comes first the next time
                return False
            change = how.check(targets[at], whole)
            if change is not None:
                counted = how.is_counted(source)
                found.append(Found(targets[at], change, False, True, counted, since))
        self.seen(source, began)
        return True

    def _comes_last(self, source: Source) -> None:
        if self._waiting.pop(source, None) is not None:
            self._waiting[source] = 0
