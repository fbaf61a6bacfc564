"""Rows of a value tree that are not the program's own objects.

RUNS IN the user's training process. Standard library only.
"""

from __future__ import annotations

from typing import Any, Callable, List, Optional, Tuple, Union

Suffix = Union[str, Callable[[str], str], None]
Child = Tuple[str, Any, Suffix]
"""Name, value, and what to append to the parent's expression to get the value (None: nothing)."""


class Row:
    """Base of our rows; ``text`` is what the value column shows."""

    __slots__ = ("text", "type_name")

    def __init__(self, text: str, type_name: str = "") -> None:
        self.text = text
        self.type_name = type_name

    def __repr__(self) -> str:
        return self.text

    def children(self) -> List[Child]:
        """The rows below this one; none by default."""
        return []


class Text(Row):
    """A row without children."""

    __slots__ = ()


class Group(Row):
    """A row whose children are made when it is opened."""

    __slots__ = ("_make",)

    def __init__(self, text: str, make: Callable[[], List[Child]]) -> None:
        super().__init__(text)
        self._make = make

    def children(self) -> List[Child]:
        """Made now."""
        return self._make()


class Items(Row):
    """A row with many numbered children, read page by page."""

    __slots__ = ("count", "fetch")

    def __init__(self, text: str, count: int, fetch: Callable[[int, int], List[Child]]) -> None:
        super().__init__(text)
        self.count = count
        self.fetch = fetch
        """Children ``start`` to ``stop`` (exclusive)."""

    def children(self) -> List[Child]:
        """All of them if they fit a page, else ranges."""
        return paged(self.count, self.fetch)


class Lazy(Row):
    """A value that only the user's own click computes."""

    __slots__ = ("compute", "name", "outcome")

    def __init__(self, why: str, name: str, compute: Callable[[], Any]) -> None:
        super().__init__(f"not evaluated ({why})")
        self.name = name
        self.compute = compute
        self.outcome: Optional[Any] = None

    def children(self) -> List[Child]:
        """The value, computed now, as the only child: what DAP asks of a lazy row."""
        from zentracer.present.lazy import outcome_of

        return [(self.name, outcome_of(self), "")]


PAGE = 100
"""Most rows made at once; more are offered as ranges."""


def paged(count: int, fetch: Callable[[int, int], List[Child]]) -> List[Child]:
    """All children if they fit a page, else one row a range."""
    return fetch(0, count) if count <= PAGE else ranges(0, count, fetch)


def ranges(start: int, stop: int, fetch: Callable[[int, int], List[Child]]) -> List[Child]:
    """Rows ``[0..99]``, ``[100..199]`` …; ranges of ranges where there would be too many."""
    width = PAGE
    while (stop - start) > width * PAGE:
        width *= PAGE
    rows: List[Child] = []
    for low in range(start, stop, width):
        high = min(low + width, stop)
        rows.append((f"[{low}..{high - 1}]", _range_row(low, high, fetch), same_expression))
    return rows


def same_expression(parent: str) -> str:
    """Expression of a row that only groups parts of its parent."""
    return parent


def _range_row(low: int, high: int, fetch: Callable[[int, int], List[Child]]) -> Group:
    if high - low <= PAGE:
        return Group("", lambda: fetch(low, high))
    return Group("", lambda: ranges(low, high, fetch))
