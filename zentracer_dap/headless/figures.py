"""How numbers read, in the terminal and in the report."""

from __future__ import annotations

from pathlib import Path
from typing import Iterable

from zentracer.wire.messages import Location, Neighbour, Stats

NOT_KNOWN = "–"


def number(value: float | None) -> str:
    """Three significant digits: ``0.063``, ``-3.79``, ``1.2e+05``."""
    return NOT_KNOWN if value is None else f"{value:.3g}"


def count(value: int | None) -> str:
    """A count with groups: ``4,096``."""
    return NOT_KNOWN if value is None else f"{value:,}"


def share(part: int | None, size: int) -> str:
    """``12 (0.3 %)``; the share is left out where it says nothing."""
    if not part or part == size == 1:
        return count(part)
    return f"{count(part)} ({percent(part, size)})"


def percent(part: int, size: int) -> str:
    """``100 %`` only for all of them, ``< 0.1 %`` for the very few."""
    value = 100 * part / size
    if part == size:
        return "100 %"
    if value < 0.1:
        return "< 0.1 %"
    return f"{min(value, 99.9):.1f} %" if value < 10 or value > 99 else f"{value:.0f} %"


def shape(stats: Stats) -> str:
    """``float32[64, 8]``; a scalar's is ``float32[]``."""
    return f"{stats.dtype}[{', '.join(map(str, stats.shape))}]"


def context(phase: str, step: int | None, rank: int | None, module: str | None) -> list[str]:
    """When and where: ``forward``, ``step 41``, ``rank 0``, ``encoder.layers.3``."""
    parts = [phase]
    if step is not None:
        parts.append(f"step {step}")
    if rank is not None:
        parts.append(f"rank {rank}")
    if module:
        parts.append(module)
    return parts


def place(location: Location, folder: Path) -> str:
    """``train.py:57``, relative to ``folder`` where that is shorter."""
    return f"{short_path(location.path, folder)}:{location.line}"


def short_path(path: str, folder: Path) -> str:
    """``path`` relative to ``folder`` if it lies inside."""
    try:
        return str(Path(path).relative_to(folder))
    except ValueError:
        return path


def times(value: int) -> str:
    """``once``, ``3 times``."""
    return "once" if value == 1 else f"{count(value)} times"


def summary(stats: Stats) -> str:
    """A tensor on one line: ``float32[3, 8] in [-3.79, 0.063]``."""
    bounds = ""
    if stats.min is not None and stats.max is not None:
        bounds = f" in [{number(stats.min)}, {number(stats.max)}]"
    return shape(stats) + bounds


def tree(neighbours: Iterable[Neighbour], folder: Path) -> list[str]:
    """Neighbours of a value, one a line, those further away further in."""
    return [neighbour(near, folder) for near in neighbours]


def neighbour(near: Neighbour, folder: Path) -> str:
    """One line of the tree: name, operation, tensor, place."""
    op = f" ({near.op})" if near.op and near.op != near.name else ""
    stats = f"  {summary(near.tensor)}" if near.tensor is not None else ""
    at = f"  {place(near.source, folder)}" if near.source is not None else ""
    return f"{'  ' * (near.depth - 1)}{near.name}{op}{stats}{at}"
