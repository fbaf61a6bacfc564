"""The elements of a tensor or an array, page by page.

RUNS IN the user's training process. Opening a page reads that page and nothing else; of a tensor
on an accelerator, it is copied with one transfer.
"""

from __future__ import annotations

from typing import Any, List, NamedTuple, Tuple

from zentracer.observe.facts import Facts
from zentracer.observe.kinds import TORCH, array_kind
from zentracer.observe.quiet import quiet
from zentracer.observe.stats import may_wait
from zentracer.present.arrays import shape_text
from zentracer.present.numbers import scalar
from zentracer.present.rows import Child, Items, Row, Text

PREVIEW = 6
"""Elements shown of each row of a matrix."""
CAPTURING: Child = (
    "not read",
    Text("a CUDA graph is being captured; reading would break it"),
    None,
)


class _Source(NamedTuple):
    """An array that may be read, with its metadata: asking a tensor again could run its hooks."""

    facts: Facts
    data: Any
    shape: Tuple[int, ...]


def values_row(facts: Facts) -> Row:
    """The ``values`` child; its text costs nothing."""
    if facts.data is None:
        return Text(facts.why)
    with quiet():
        source = _Source(facts, facts.data, tuple(facts.data.shape))
    return _below(source, (), shape_text(source.shape) if source.shape else "")


def _below(source: _Source, prefix: Tuple[int, ...], text: str) -> Items:
    """The part of an array below one index prefix."""
    depth, depths = len(prefix), len(source.shape)

    def fetch(start: int, stop: int) -> List[Child]:
        if not may_wait(source.facts):
            return [CAPTURING]
        if depth == depths:
            return _only_element(source)
        if depth + 1 == depths:
            return _elements(source, prefix, start, stop)
        return _previews(source, prefix, start, stop)

    return Items(text, source.shape[depth] if depth < depths else 1, fetch)


def _only_element(source: _Source) -> List[Child]:
    dtype = source.facts.dtype
    return [("[()]", Text(scalar(_read(source, ()), dtype), dtype), "[()]")]


def _elements(source: _Source, prefix: Tuple[int, ...], start: int, stop: int) -> List[Child]:
    dtype = source.facts.dtype
    rows: List[Child] = []
    for at, element in enumerate(_read(source, (*prefix, slice(start, stop))), start):
        rows.append((f"[{at}]", Text(scalar(element, dtype), dtype), f"[{at}]"))
    return rows


def _previews(source: _Source, prefix: Tuple[int, ...], start: int, stop: int) -> List[Child]:
    """One row an index, each with its first elements; all are read in one go."""
    if not all(source.shape):
        return []
    skipped = len(source.shape) - len(prefix) - 2
    index = (*prefix, slice(start, stop), *(0,) * skipped, slice(0, PREVIEW))
    more = ", …" if skipped or source.shape[-1] > PREVIEW else ""
    rows: List[Child] = []
    for at, elements in enumerate(_read(source, index), start):
        text = ", ".join(scalar(element, source.facts.dtype) for element in elements) + more
        rows.append((f"[{at}]", _below(source, (*prefix, at), text), f"[{at}]"))
    return rows


def _read(source: _Source, index: Tuple[Any, ...]) -> Any:
    """The elements at ``index`` as Python numbers."""
    if array_kind(type(source.data)) != TORCH:
        return source.data[index].tolist()
    with quiet():
        part = source.data[index]
        return (part.dequantize() if part.is_quantized else part).tolist()
