"""Tensors as a table, shared by the terminal and the report."""

from __future__ import annotations

from dataclasses import dataclass

from zentracer.wire.messages import HitDetails, Stats
from zentracer_dap.headless import figures


@dataclass(frozen=True)
class Row:
    """One tensor: its role and its cells, in the order of ``Table.columns``."""

    role: str
    """``result`` or ``input``"""
    stats: Stats
    cells: tuple[str, ...]
    bad: frozenset[int]
    """Cells that hold what is wrong."""


@dataclass(frozen=True)
class Table:
    """Rows of equal length; columns in which no tensor has anything to say are left out."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


UNKNOWN = "unknown"
"""Type of a tensor that is gone."""
WORDS = ("", "name", "tensor")
"""Columns that hold words; the others hold numbers."""


def tensor_table(details: HitDetails) -> Table:
    """The result and its inputs, one row each."""
    named = [("input", item) for item in details.inputs]
    if details.tensor.dtype != UNKNOWN or not named:
        named.insert(0, ("result", details.tensor))
    if [details.tensor.dtype, *details.inputs] == [UNKNOWN]:  # what was found is not about a tensor
        return Table((), ())
    cells = [_cells(role, stats) for role, stats in named]
    titles = list(cells[0])
    kept = [t for t in titles if any(row[t] not in ("", figures.NOT_KNOWN) for row in cells)]
    rows = [
        Row(
            role,
            stats,
            tuple(row[title] for title in kept),
            frozenset(i for i, title in enumerate(kept) if _is_bad(title, stats)),
        )
        for (role, stats), row in zip(named, cells)
    ]
    return Table(tuple(kept), tuple(rows))


def _cells(role: str, stats: Stats) -> dict[str, str]:
    return {
        "": role,
        "name": stats.name or "",
        "tensor": figures.shape(stats) + ("" if stats.device == "cpu" else f" {stats.device}"),
        "min": figures.number(stats.min),
        "max": figures.number(stats.max),
        "mean": figures.number(stats.mean),
        "std": figures.number(stats.std),
        "NaN": figures.share(stats.nan, stats.size),
        "Inf": figures.share(stats.inf, stats.size),
        "zeros": figures.share(stats.zeros, stats.size),
        " ": "sampled" if stats.sampled else "",
    }


def _is_bad(title: str, stats: Stats) -> bool:
    return bool(title == "NaN" and stats.nan) or bool(title == "Inf" and stats.inf)
