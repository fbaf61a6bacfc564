"""All that is armed: which memory it takes, what was in it, and what has become of it.

RUNS IN the training process. ``touched`` reads metadata of plain tensors, the rest runs inside
``unseen()``.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Iterable

from torch import Tensor

from zentracer.frameworks.pytorch.data.content import EXACT, KEPT, SAMPLE
from zentracer.frameworks.pytorch.data.found import Found, Look
from zentracer.frameworks.pytorch.data.places import Places
from zentracer.frameworks.pytorch.data.ranges import Range, Ranges
from zentracer.frameworks.pytorch.data.source import Source, range_of
from zentracer.frameworks.pytorch.data.target import Change, Limits, Target
from zentracer.frameworks.pytorch.data.turns import Round, Turns
from zentracer.frameworks.pytorch.data.writer import Site
from zentracer.watches.paths import MISSING

_MAX_LATER = 32
"""Targets that have moved and are looked through one by one, before all are sorted anew; of many
targets more, for sorting one takes as long as looking through ``_SORTING``."""
_SORTING = 64


class Watched:
    """The targets of all data breakpoints. Who changes something holds a lock."""

    def __init__(self) -> None:
        self.targets: dict[str, Target] = {}
        self.limits = Limits(SAMPLE, EXACT)
        self._by_source: dict[Source, list[Target]] = {}
        self._ranges: Ranges[Target] = Ranges()
        self._later: list[tuple[Range, Target]] = []
        self._by_identity: dict[int, dict[Source, None]] = {}
        self._samples, self._contents = Turns(), Turns()
        self.places = Places()
        self.look = Look(0, None)
        """The last one."""
        self.is_compiled = False
        """Whether code that is compiled runs."""
        self.has_uncounted = False
        """Whether writes may happen that no version counter tells of."""

    def set(self, targets: Iterable[Target], *, precise: bool) -> None:
        """Watch exactly these; what is there now is known, of those that are watched already
        what was there.
        """
        wanted = {target.data_id: target for target in targets}
        for data_id, target in self.targets.items():
            if data_id not in wanted:
                target.forget()
        self.targets = wanted
        share = KEPT // max(len(wanted), 1)
        self.limits = Limits(min(SAMPLE, max(share, 64)), 1 << 62 if precise else EXACT)
        by_source: dict[Source, list[Target]] = {}
        for target in wanted.values():
            by_source.setdefault(target.source, []).append(target)
        for source, of_it in by_source.items():
            self._learn_new(source, of_it)
        self._by_source = by_source  # at once: other threads look things up
        self._order()
        self._sort()

    def drop(self, targets: Iterable[Target]) -> None:
        """Watch these no longer."""
        for target in targets:
            target.forget()
            self.targets.pop(target.data_id, None)
            rest = [one for one in self._by_source.pop(target.source, []) if one is not target]
            if rest:
                self._by_source[target.source] = rest
        self._order()

    def touched(self, x: Tensor) -> list[Target]:
        """Return what a write into ``x`` may have changed."""
        sources = list(self._by_identity.get(id(x), ()))  # no lock is held
        found = [target for source in sources for target in self._by_source.get(source, ())]
        memory = range_of(x)
        if memory is None:
            return found
        found += self._ranges.touching(memory)
        found += [t for (low, high), t in self._later if low < memory[1] and memory[0] < high]
        return found

    def gradients_of(self, x: Tensor) -> list[Target]:
        """Return what is watched as the gradient of ``x``."""
        return [
            target
            for source in list(self._by_identity.get(id(x), ()))
            if source.holder is not None and source.holder.is_gradient
            for target in self._by_source.get(source, ())
        ]

    def expose(self, target: Target) -> None:
        """Somebody may write from now on without torch's counting it."""
        target.source.exposed = self.has_uncounted = True

    def expose_all(self) -> None:
        """Code that is compiled may write into any of them from now on; torch counts no more."""
        self.is_compiled = True
        for source in self._by_source:
            source.exposed = True
        self._note_uncounted()

    def check(self, targets: Iterable[Target], site: Site | None = None) -> list[Found]:
        """Return which of these have changed; what is there is known from now on."""
        found: list[Found] = []
        self.look = Look(self.look.number + 1, site)
        sources = dict.fromkeys(target.source for target in targets)
        for source in sources:
            found += self._check(source)
        self._sort_if_many()
        return found

    def moved(
        self, site: Site | None, may: Callable[[], bool], *, glances: bool
    ) -> list[Found]:  # fmt: skip
        """Return what has changed of all, as far as versions, addresses, places and samples tell.

        Args:
            site: where the program is.
            may: tells whether there is time to compare one more sample of which no version tells;
                what is left has its turn the next time.
            glances: compare samples of those, too, whose versions say that nobody has written.
        """
        self.look = Look(self.look.number + 1, site)
        found: list[Found] = []
        for source in list(self._by_source):
            found += self._check(source) if source.has_moved() else self._follow(source)
        self._sort_if_many()

        def wants(source: Source) -> bool:
            return source.needs_a_glance(counted_too=glances)

        def check(target: Target, whole: Tensor | None) -> Change | None:
            return target.glance(whole, self.limits)

        how = Round(self.look, wants, may, check, self._is_counted)
        return found + self._expose_found(self._samples.take(self._by_source, how))

    def read(self, may: Callable[[], bool]) -> list[Found]:
        """Return what ``moved`` has not found of those of which neither versions nor samples tell.

        Args:
            may: tells whether there is time to read one more as a whole.
        """

        def check(target: Target, whole: Tensor | None) -> Change | None:
            return target.check(whole, self.limits)

        how = Round(self.look, self._has_to_be_read, may, check, self._is_counted)
        found = self._contents.take(self._by_source, how)
        for source in [one for one in self._by_source if self._contents.is_known(one, self.look)]:
            source.looked()
        return self._expose_found(found)

    def adopt(self) -> None:
        """Take for known what has been written since, by the debugger."""
        for source, targets in self._by_source.items():
            rebound = source.rebound()
            if rebound is not MISSING:
                source.bind(rebound)
                self._note_place(source)
            if rebound is not MISSING or source.has_moved() or source.is_uncounted:
                if source.see():
                    self._note_place(source)
                for target in targets:
                    target.learn(self.limits)
            elif source.needs_a_glance(counted_too=True):
                whole = source.tensor()
                for target in targets:
                    target.glance(whole, self.limits)
        self._sort_if_many()

    def gone(self) -> list[Target]:
        """Return the targets that have been freed."""
        return [t for source, all_of in self._by_source.items() if source.is_gone for t in all_of]

    def held_at(self, owner: Any, name: str) -> list[Target]:
        """Return what is held as attribute ``name`` of the module ``owner``."""
        return [
            target
            for source in list(self._by_identity.get(id(owner), ()))
            if source.holder is not None
            and source.holder.root is owner
            and source.holder.module_attribute == name
            for target in self._by_source.get(source, ())
        ]

    @property
    def has_gradients(self) -> bool:
        """Whether something is watched as the gradient of a tensor."""
        return any(source.is_gradient for source in self._by_source)

    @property
    def has_attributes(self) -> bool:
        """Whether attributes of modules are watched."""
        return any(s.holder is not None and s.holder.module_attribute for s in self._by_source)

    # -- inside ------------------------------------------------------------------------------------

    def _order(self) -> None:
        """Have each looked at in its turn."""
        for turns in (self._samples, self._contents, self.places):
            turns.set(self._by_source)

    def _learn_new(self, source: Source, targets: list[Target]) -> None:
        """What has happened to a source while nobody watched it is not told."""
        is_new = not any(target.is_known for target in targets)
        if is_new:
            rebound = source.rebound()
            if rebound is not MISSING:
                source.follow(rebound)
            source.see()
        for target in targets:
            if not target.is_known:
                target.learn(self.limits)

    def _check(self, source: Source) -> list[Found]:
        followed = self._follow(source)
        if followed:
            return followed
        if source.is_gone:
            return []  # others may have its memory by now
        if source.see():
            self._note_place(source)
        return self._compare(source, is_rebound=False)

    def _follow(self, source: Source) -> list[Found]:
        """Look at what the place of ``source`` holds instead, if it does."""
        rebound = source.rebound()
        if rebound is MISSING:
            return []
        source.bind(rebound)
        self._note_place(source)
        return self._compare(source, is_rebound=True)

    def _compare(self, source: Source, *, is_rebound: bool) -> list[Found]:
        found: list[Found] = []
        whole = source.tensor()
        for target in self._by_source.get(source, ()):
            change = target.check(whole, self.limits)
            if change is not None:
                found.append(Found(target, change, is_rebound))
        source.looked()
        self._samples.seen(source, self.look)
        self._contents.seen(source, self.look)
        return found

    def _expose_found(self, found: list[Found]) -> list[Found]:
        """Somebody has the memory of these, and may write again."""
        for one in found:
            one.target.source.exposed = True
        self._note_uncounted()
        return found

    def _has_to_be_read(self, source: Source) -> bool:
        if not source.needs_reading:
            return False
        return not source.is_host or any(t.is_sampled for t in self._by_source[source])

    def _is_counted(self, source: Source) -> bool:
        return source.is_counted and not self.is_compiled

    def _note_place(self, source: Source) -> None:
        """Note where a source is now."""
        for identity in source.identities():
            self._by_identity.setdefault(identity, {})[source] = None
        whole = source.tensor()
        for target in self._by_source.get(source, ()):
            memory = target.memory(whole)
            if memory is not None:
                self._later.append((memory, target))
        self.has_uncounted = self.has_uncounted or source.is_uncounted

    def _sort_if_many(self) -> None:
        if len(self._later) > max(_MAX_LATER, math.isqrt(_SORTING * len(self.targets))):
            self._sort()

    def _note_uncounted(self) -> None:
        self.has_uncounted = any(source.is_uncounted for source in self._by_source)

    def _sort(self) -> None:
        by_identity: dict[int, dict[Source, None]] = {}
        for source in self._by_source:
            for identity in source.identities():
                by_identity.setdefault(identity, {})[source] = None
        self._by_identity = by_identity
        entries: list[tuple[Range, Target]] = []
        for source, targets in self._by_source.items():
            whole = source.tensor()
            memories = [(target.memory(whole), target) for target in targets]
            entries += [(memory, target) for memory, target in memories if memory is not None]
        self._ranges = Ranges(entries)
        self._later = []
        self._note_uncounted()
