"""Small drawings of a tensor, as inline SVG: where its values lie, and what they are made of."""

from __future__ import annotations

from zentracer.wire.messages import Stats
from zentracer_dap.headless import figures
from zentracer_dap.headless.markup import EMPTY, Markup, tag

WIDTH, HEIGHT = 168, 22
MARGIN = 5


def range_chart(stats: Stats) -> Markup:
    """Finite values from min to max, with mean, one standard deviation, and zero; or nothing."""
    low, high = stats.min, stats.max
    if low is None or high is None:
        return EMPTY
    start, end = min(low, 0.0), max(high, 0.0)
    if not end > start:
        start, end = start - 1.0, end + 1.0

    def x(value: float) -> float:
        share = (value / 2 - start / 2) / (end / 2 - start / 2)  # halved: end - start may overflow
        return MARGIN + share * (WIDTH - 2 * MARGIN)

    parts = [
        _line("axis", MARGIN, WIDTH - MARGIN, 11, 11),
        _bar("span", x(low), x(high), 5, 12),
    ]
    if stats.mean is not None and stats.std is not None:
        left, right = max(low, stats.mean - stats.std), min(high, stats.mean + stats.std)
        parts.append(_bar("spread", x(left), x(right), 7, 8))
    parts.append(_line("nought", x(0), x(0), 1, 21))
    if stats.mean is not None:
        parts.append(tag("circle", class_="mean", cx=f"{x(stats.mean):.1f}", cy="11", r="3.5"))
    label = f"values from {figures.number(low)} to {figures.number(high)}"
    return _svg(label, parts)


def content_chart(stats: Stats) -> Markup:
    """Which share of the elements is NaN, Inf, zero or another number; or nothing."""
    if not stats.size or stats.nan is None or stats.inf is None:
        return EMPTY
    zeros = stats.zeros or 0
    finite = max(0, stats.size - stats.nan - stats.inf - zeros)
    counts = {"nan": stats.nan, "inf": stats.inf, "zeros": zeros, "finite": finite}
    parts: list[Markup] = []
    at = float(MARGIN)
    for (kind, _), width in zip(counts.items(), _widths(list(counts.values()))):
        if width:
            parts.append(_bar(kind, at, at + width, 6, 6))
        at += width
    label = ", ".join(f"{n} {kind}" for kind, n in counts.items() if n)
    return _svg(label, parts, 16)


def _widths(counts: list[int]) -> list[float]:
    """Widths in proportion, but never so narrow that a part cannot be seen."""
    room, least = WIDTH - 2 * MARGIN, 3.0
    total = sum(counts)
    widths = [max(least, room * n / total) if n else 0.0 for n in counts]
    widest = widths.index(max(widths))
    widths[widest] -= sum(widths) - room
    return widths


def _bar(kind: str, left: float, right: float, top: int, height: int) -> Markup:
    width = max(right - left, 1.5)
    return tag(
        "rect",
        class_=kind,
        x=f"{left:.1f}",
        y=str(top),
        width=f"{width:.1f}",
        height=str(height),
        rx="1.5",
    )


def _line(kind: str, x1: float, x2: float, y1: int, y2: int) -> Markup:
    return tag("line", class_=kind, x1=f"{x1:.1f}", x2=f"{x2:.1f}", y1=str(y1), y2=str(y2))


def _svg(label: str, parts: list[Markup], height: int = HEIGHT) -> Markup:
    return tag(
        "svg",
        *parts,
        role="img",
        aria_label=label,
        width=str(WIDTH),
        height=str(height),
        viewBox=f"0 0 {WIDTH} {height}",
    )
