"""Tensor breakpoints as they are wanted: by the editor's list, the view, or the launch."""

from __future__ import annotations

import ast
import itertools
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from zentracer.wire.filters import FILTERS

EDITOR, VIEW, LAUNCH = "editor", "view", "launch"
"""Who can want one, as ``TensorBreakpointState.source`` says it."""

LABELS = {offered.id: offered.label for offered in FILTERS}
"""Label by filter, for all that this version offers."""

_FIRST_ID = 1_000_000
"""Far above the ids that pydevd gives to breakpoints, which count from 0."""


@dataclass(frozen=True)
class Wanted:
    """One tensor breakpoint. Equal ones are the same breakpoint, with one id and one hit count."""

    source: str
    filter: str
    condition: str | None = None
    module: str | None = None
    """Glob of qualified module names."""
    copy: int = 0
    """Counts those of one source that are otherwise equal."""
    enabled: bool = field(default=True, compare=False)

    @property
    def is_offered(self) -> bool:
        """Whether this version knows the filter."""
        return self.filter in LABELS

    def whole_condition(self) -> str | None:
        """Return the condition with the module's glob in it."""
        if not self.module:
            return self.condition
        match = f"match({self.module!r})"
        if not self.condition or not self.condition.strip():
            return match
        if not _is_expression(self.condition):
            return self.condition  # alone, so that the runtime's message is about what was written
        # The line break ends a comment.
        return f"{match} and ({self.condition}\n)"


class Ids:
    """Breakpoint ids, stable for as long as the session lasts."""

    def __init__(self) -> None:
        self._ids: dict[Wanted, int] = {}
        self._numbers = itertools.count(_FIRST_ID)

    def of(self, wanted: Wanted) -> int:
        """Return the id of ``wanted``."""
        if wanted not in self._ids:
            self._ids[wanted] = next(self._numbers)
        return self._ids[wanted]

    def __contains__(self, number: int) -> bool:
        return number in self._ids.values()


def told_apart(items: Iterable[Wanted]) -> tuple[Wanted, ...]:
    """Number those that are equal, so that each is a breakpoint of its own."""
    found: dict[Wanted, Wanted] = {}
    for item in items:
        copy = item
        while copy in found:
            copy = replace(copy, copy=copy.copy + 1)
        found[copy] = copy
    return tuple(found)


def unknown_filter(name: str) -> str:
    """What to say about a filter that this version does not offer."""
    return f"This version of ZenTracer does not know {name}."


def _is_expression(text: str) -> bool:
    """Whether ``text`` is one by itself: ``a) or (b`` must not become one inside our brackets."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return True
