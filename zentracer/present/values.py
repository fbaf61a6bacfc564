"""The elements of a tensor or an array, page by page.

RUNS IN the user's training process. Opening a page reads that page and nothing else; of a tensor
on an accelerator, it is copied with one transfer.
"""

from __future__ import annotations

from typing import Any, List, NamedTuple, Tuple

from zentracer.observe.facts import Facts
from zentracer.observe.kinds import TORCH, array_kind
from zentracer.observe.quiet import quiet
from zentracer.present.arrays import shape_text
from zentracer.present.numbers import scalar
from zentracer.present.rows import Child, Items, Row, Text

PREVIEW = 6
"""Elements shown of each row of a matrix."""


class _Source(NamedTuple):
    """An array that may be read, with its metadata: asking a tensor again could run its hooks."""

    data: Any
    dtype: str
    shape: Tuple[int, ...]


def values_row(facts: Facts) -> Row:
    """The ``values`` child; its text costs nothing."""
    if facts.data is None:
        return Text(facts.why)
    with quiet():
        source = _Source(facts.data, facts.dtype, tuple(facts.data.shape))
    if source.shape:
        return _below(source, (), shape_text(source.shape))
    return Items("", 1, lambda _start, _stop: _only_element(source))


def _below(source: _Source, prefix: Tuple[int, ...], text: str) -> Items:
    """The part of an array below one index prefix."""

    def fetch(start: int, stop: int) -> List[Child]:
        if len(prefix) + 1 == len(source.shape):
            return _elements(source, prefix, start, stop)
        return _previews(source, prefix, start, stop)

    return Items(text, source.shape[len(prefix)], fetch)


def _elements(source: _Source, prefix: Tuple[int, ...], start: int, stop: int) -> List[Child]:
    rows: List[Child] = []
    for at, element in enumerate(_read(source, (*prefix, slice(start, stop))), start):
        rows.append((f"[{at}]", Text(scalar(element, source.dtype), source.dtype), f"[{at}]"))
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
        text = ", ".join(scalar(element, source.dtype) for element in elements) + more
        rows.append((f"[{at}]", _below(source, (*prefix, at), text), f"[{at}]"))
    return rows


def _only_element(source: _Source) -> List[Child]:
    return [("[()]", Text(scalar(_read(source, ()), source.dtype), source.dtype), "[()]")]


def _read(source: _Source, index: Tuple[Any, ...]) -> Any:
    """The elements at ``index`` as Python numbers."""
    if array_kind(type(source.data)) != TORCH:
        return source.data[index].tolist()
    with quiet():
        part = source.data[index]
        return (part.dequantize() if part.is_quantized else part).tolist()
