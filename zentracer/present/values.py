"""The elements of a tensor or an array, page by page.

RUNS IN the user's training process. Opening a page reads that page and nothing else; of a tensor
on an accelerator, it is copied with one transfer.
"""

from __future__ import annotations

from typing import Any, List, Tuple

from zentracer.observe.facts import Facts
from zentracer.observe.kinds import TORCH, array_kind
from zentracer.observe.quiet import quiet
from zentracer.present.arrays import shape_text
from zentracer.present.numbers import scalar
from zentracer.present.rows import Child, Items, Row, Text

PREVIEW = 6
"""Elements shown of each row of a matrix."""


def values_row(facts: Facts, *, name: str = "") -> Row:
    """The ``values`` child; its text costs nothing."""
    data = facts.data
    if data is None:
        return Text(facts.why)
    if not _dimensions(data):
        return Items(name, 1, lambda start, stop: _only_element(data, facts.dtype))
    return _Values(data, facts.dtype, (), name or shape_text(data.shape))


class _Values(Items):
    """The part of an array below one index prefix."""

    __slots__ = ()

    def __init__(self, data: Any, dtype: str, prefix: Tuple[int, ...], text: str) -> None:
        def fetch(start: int, stop: int) -> List[Child]:
            return _page(data, dtype, prefix, start, stop)

        super().__init__(text, int(data.shape[len(prefix)]), fetch)


def _page(data: Any, dtype: str, prefix: Tuple[int, ...], start: int, stop: int) -> List[Child]:
    below = _dimensions(data) - len(prefix) - 1
    if not below:
        elements = _read(data, (*prefix, slice(start, stop)))
        return [
            (f"[{start + at}]", Text(scalar(element, dtype), dtype), f"[{start + at}]")
            for at, element in enumerate(elements)
        ]
    index = (*prefix, slice(start, stop), *(0,) * (below - 1), slice(0, PREVIEW))
    more = ", …" if below > 1 or data.shape[-1] > PREVIEW else ""
    rows: List[Child] = []
    for at, elements in enumerate(_read(data, index) if _has_elements(data) else []):
        name = f"[{start + at}]"
        preview = ", ".join(scalar(element, dtype) for element in elements) + more
        rows.append((name, _Values(data, dtype, (*prefix, start + at), preview), name))
    return rows


def _only_element(data: Any, dtype: str) -> List[Child]:
    return [("[()]", Text(scalar(_read(data, ()), dtype), dtype), "[()]")]


def _read(data: Any, index: Tuple[Any, ...]) -> Any:
    """The elements at ``index`` as Python numbers."""
    if array_kind(type(data)) != TORCH:
        return data[index].tolist()
    with quiet():
        part = data[index]
        return (part.dequantize() if part.is_quantized else part).tolist()


def _dimensions(data: Any) -> int:
    return len(data.shape)


def _has_elements(data: Any) -> bool:
    return all(data.shape)
