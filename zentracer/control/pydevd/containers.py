"""Large lists, tuples, dicts, sets and deques, read page by page.

RUNS IN the training process. Up to a page of items, pydevd's own listing stands.
"""

from __future__ import annotations

import collections
import itertools
import sys
from typing import Any, Callable, List, Optional, Tuple

from zentracer.present.children import children
from zentracer.present.rows import PAGE, Child, Items, ranges

_SEQUENCES = (list, tuple, collections.deque)
_SETS = (set, frozenset)


def items_of(value: Any) -> Optional[Items]:
    """The numbered children of a built-in container with more than a page of items, else None.

    Subclasses are read as the built-in type they extend: their own ``__getitem__`` or ``items``
    may be slow or raise.
    """
    kind = type(value)
    for base, fetcher in _FETCHERS:
        if issubclass(kind, base):
            count = base.__len__(value)
            return Items("", count, fetcher(value, count)) if count > PAGE else None
    return None


def ours(value: Any) -> List[Child]:
    """Children of a value that is presented by us."""
    return children(value)


def later_ranges(items: Items) -> List[Child]:
    """Rows for what comes after the first page."""
    return ranges(PAGE, items.count, items.fetch)


def item_named(value: Any, items: Items, name: str) -> Optional[Child]:
    """The child with that name, or None."""
    if issubclass(type(value), (*_SEQUENCES, Items)):
        number = name.strip("[]")
        at = int(number) if number.isdigit() else -1
        return items.fetch(at, at + 1)[0] if 0 <= at < items.count else None
    return next((row for row in items.fetch(0, items.count) if row[0] == name), None)


def named_entries(value: Any, fmt: Any) -> List[Child]:
    """Attributes that a subclass adds, the methods, and ``len()``."""
    resolvers = sys.modules["_pydevd_bundle.pydevd_resolver"]
    entries = resolvers.defaultResolver.get_contents_debug_adapter_protocol(value, fmt)
    return [*entries, ("len()", len(value), lambda parent: f"len({parent})")]


def _sequence(value: Any, count: int) -> Callable[[int, int], List[Child]]:
    width = len(str(count - 1))
    slicing: Any = list.__getitem__ if isinstance(value, list) else tuple.__getitem__

    def fetch(start: int, stop: int) -> List[Child]:
        if isinstance(value, collections.deque):
            part: Any = itertools.islice(collections.deque.__iter__(value), start, stop)
        else:
            part = slicing(value, slice(start, stop))
        return [(f"{at:0{width}d}", item, f"[{at}]") for at, item in enumerate(part, start)]

    return fetch


def _mapping(value: Any, _count: int) -> Callable[[int, int], List[Child]]:
    resolvers = sys.modules["_pydevd_bundle.pydevd_resolver"]
    ordered = isinstance(value, collections.OrderedDict)
    base = collections.OrderedDict if ordered else dict

    def fetch(start: int, stop: int) -> List[Child]:
        rows: List[Child] = []
        for key, item in itertools.islice(base.items(value), start, stop):
            name = resolvers.dictResolver.key_to_str(key)
            plain = resolvers._does_obj_repr_evaluate_to_obj(key)
            rows.append((name, item, f"[{key!r}]" if plain else None))
        return rows

    return fetch


def _set(value: Any, _count: int) -> Callable[[int, int], List[Child]]:
    base = set if isinstance(value, set) else frozenset

    def fetch(start: int, stop: int) -> List[Child]:
        return [
            (str(id(item)), item, None)
            for item in itertools.islice(base.__iter__(value), start, stop)  # type: ignore[arg-type]
        ]

    return fetch


_FETCHERS: Tuple[Tuple[Any, Any], ...] = (
    *((base, _sequence) for base in _SEQUENCES),
    (dict, _mapping),
    *((base, _set) for base in _SETS),
)
