"""Turns a non-finite value into the message the user reads.

RUNS IN the training process, when a finding is reported.
"""

from __future__ import annotations

import dataclasses
import os
import types
from typing import Any, Iterable

from torch import Tensor

from zentracer.control.source import Place, operands, place_of
from zentracer.frameworks.pytorch.finite import readable_tensor
from zentracer.frameworks.pytorch.frames import user_frames
from zentracer.observe.stats import exact_stats
from zentracer.wire.filters import NONFINITE
from zentracer.wire.messages import (
    BreakpointHit,
    HitDetails,
    Location,
    Stats,
    Suggestion,
)

_MAX_INPUTS = 8


@dataclasses.dataclass
class Finding:
    """Everything known about one non-finite value before it is put into words."""

    op: str
    phase: str
    tensor: Tensor | None
    nan: int
    inf: int
    source: Place
    origin: Place
    subject: str
    """What the value is: ``output of fc1``, ``parameter table.weight``, ``gradient …``."""
    module: str | None = None
    inputs: tuple[tuple[str | None, Tensor], ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    finite_before: str | None = None
    note: str | None = None
    step: int | None = None
    rank: int | None = None
    frame: types.FrameType | None = None


def hit_of(finding: Finding, breakpoint_ids: tuple[int, ...]) -> BreakpointHit:
    """Return the message to send for ``finding``."""
    stats = stats_of(finding.tensor)
    text = sentence(finding, stats)
    details = HitDetails(
        filter=NONFINITE.id,
        module=finding.module,
        op=finding.op,
        phase=finding.phase,
        step=finding.step,
        rank=finding.rank,
        source=finding.source.location,
        origin=finding.origin.location,
        tensor=stats,
        inputs=tuple(stats_of(x, name) for name, x in finding.inputs[:_MAX_INPUTS]),
        suggestions=finding.suggestions,
        finite_before=finding.finite_before,
        note=finding.note,
        stack=tuple(place_of(f.f_code, f.f_lasti).location for f in user_frames(finding.frame)),
    )
    return BreakpointHit(
        breakpoint_ids=breakpoint_ids,
        label=NONFINITE.label,
        where=where(finding),
        text=text,
        description=description(text, details),
        details=details,
    )


def stats_of(x: Tensor | None, name: str | None = None) -> Stats:
    """Return the statistics of ``x``, which may be gone."""
    if x is None:
        return Stats(shape=(), dtype="unknown", device="unknown", size=0, bytes=0, name=name)
    stats = exact_stats(x)
    return dataclasses.replace(stats, name=name) if name else stats


def sentence(finding: Finding, stats: Stats) -> str:
    """Return the one sentence with numbers, e.g. ``NaN in output of fc (forward, step 3): …``."""
    when = finding.phase if finding.step is None else f"{finding.phase}, step {finding.step}"
    if finding.rank is not None:
        when += f", rank {finding.rank}"
    text = f"{kind(finding)} in {finding.subject} ({when})"
    bad = finding.nan + finding.inf
    if stats.size:
        text += f": {bad:,} of {stats.size:,} element{'s' if stats.size != 1 else ''}"
    if finding.origin.location != finding.source.location:
        text += f"; made at {place_name(finding.origin.location)}"
    return text


def brief(error: Exception) -> str:
    """Return one short line on an error of ours; torch's own messages may fill pages."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def kind(finding: Finding) -> str:
    """Return ``NaN``, ``Inf`` or ``NaN and Inf``."""
    if finding.nan and finding.inf:
        return "NaN and Inf"
    return "NaN" if finding.nan or not finding.inf else "Inf"


def where(finding: Finding) -> str:
    """Return the short place for the Call Stack badge."""
    if finding.module and finding.module not in finding.op:
        return f"{finding.op} in {finding.module}" if finding.op else finding.module
    return finding.op or place_name(finding.origin.location)


def place_name(location: Location) -> str:
    """Return ``train.py:12``."""
    return f"{os.path.basename(location.path)}:{location.line}"


def description(text: str, details: HitDetails) -> str:
    """Return the several lines of the exception widget: what, why, try."""
    lines = [text]
    origin = details.origin
    if origin.text:
        lines += ["", f"{place_name(origin)}:  {origin.text.strip()}"]
    lines += [f"  result  {stats_line(details.tensor)}"]
    lines += [f"  {x.name or 'input'}  {stats_line(x)}" for x in details.inputs]
    if details.finite_before:
        lines += ["", details.finite_before]
    if details.note:
        lines += ["", f"Note: {details.note}"]
    for suggestion in details.suggestions:
        lines += ["", f"Try: {suggestion.title}", f"     {suggestion.why}"]
        if suggestion.edit is not None:
            lines += [
                f"   - {suggestion.edit.old_text.strip()}",
                f"   + {suggestion.edit.new_text.strip()}",
            ]
    return "\n".join(lines)


def stats_line(stats: Stats) -> str:
    """Return shape, dtype, range and counts on one line."""
    shape = ", ".join(map(str, stats.shape))
    parts = [f"{stats.dtype}[{shape}]"]
    if stats.min is not None and stats.max is not None:
        parts.append(f"in [{stats.min:.4g}, {stats.max:.4g}]")
    counts = (("NaN", stats.nan), ("Inf", stats.inf), ("zeros", stats.zeros))
    parts += [f"{label} {count:,}" for label, count in counts if count]
    return " ".join(parts)


def named_inputs(
    place: Place, args: Iterable[Any], tensors: Iterable[Tensor], known: dict[int, str]
) -> tuple[tuple[str | None, Tensor], ...]:
    """Pair each input, as far as its values can be read, with the name it has in the source.

    Args:
        place: The place of the operation.
        args: The positional arguments of the torch call.
        tensors: The inputs to name.
        known: Names of parameters, by ``id``.
    """
    names = dict(known)
    module = place.module
    if module is not None:
        for argument, operand in zip(args, operands(place.node)):
            if isinstance(argument, Tensor):
                names.setdefault(id(argument), module.text(operand))
    readable = [(names.get(id(x)), readable_tensor(x)) for x in tensors]
    return tuple((name, x) for name, x in readable if x is not None)
