"""Turns what was found into the message the user reads.

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
from zentracer.wire.filters import NONFINITE, Filter
from zentracer.wire.messages import (
    Advice,
    BreakpointHit,
    HitDetails,
    Location,
    Neighbour,
    Stats,
    Suggestion,
)

_MAX_INPUTS = 8
UNKNOWN = "unknown"
"""Type and device of a tensor that is gone."""
ADVICE = "zentracer.advice"
"""``details.filter`` of what is listed without stopping."""


@dataclasses.dataclass
class Finding:
    """Everything known about one finding before it is put into words."""

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
    filter: Filter = NONFINITE
    headline: str | None = None
    """What happened, e.g. ``Exploding gradient in rnn``; None: non-finite values in ``subject``."""
    numbers: str | None = None
    """The end of the sentence, e.g. ``norm 3.2e+17, 4e+06 times its median``."""
    evidence: tuple[str, ...] = ()
    """Lines of a table, e.g. one a layer."""
    values: dict[str, Any] = dataclasses.field(default_factory=dict)
    """Names of the condition language that are not those of ``tensor``: norm, ratio, epoch …"""
    epoch: int | None = None
    upstream: tuple[Neighbour, ...] = ()
    downstream: tuple[Neighbour, ...] = ()
    reason: str = "exception"
    """``stopped.reason``."""
    shown: dict[str, Any] = dataclasses.field(default_factory=dict)
    """What the scopes "Tensors" and "Module" show, besides ``tensor`` and ``inputs``."""
    before: Stats | None = None
    changed: float | None = None
    writer: str | None = None
    measured: tuple[Stats, ...] = ()
    """Statistics of ``tensor`` and ``inputs`` as they were, where it is told later."""

    def measure(self) -> None:
        """Take the statistics now: until it is told, tensors may change or be let go."""
        self.measured = _measured(self)

    def let_go(self) -> None:
        """Hold no tensor; the text stays."""
        self.tensor, self.inputs = None, ()
        self.shown = {name: x for name, x in self.shown.items() if not isinstance(x, Tensor)}


def shown_at(finding: Finding) -> dict[str, Any]:
    """Return what the scopes show at the stop: ``x``, the inputs by name, gradients."""
    shown: dict[str, Any] = {} if finding.tensor is None else {"x": finding.tensor}
    for position, (name, x) in enumerate(finding.inputs):
        shown.setdefault(name or f"input {position}", x)
    return {**shown, **finding.shown}


def hit_of(finding: Finding, breakpoint_ids: tuple[int, ...]) -> BreakpointHit:
    """Return the message to send for ``finding``."""
    details = details_of(finding, finding.filter.id)
    text = sentence(finding, details.tensor)
    return BreakpointHit(
        breakpoint_ids=breakpoint_ids,
        label=finding.filter.label,
        where=where(finding),
        text=text,
        description=description(text, details),
        details=details,
        reason=finding.reason,
    )


def advice_of(finding: Finding, rule: str, label: str, severity: str) -> Advice:
    """Return the message to send for a ``finding`` that is only listed."""
    details = details_of(finding, ADVICE)
    text = sentence(finding, details.tensor)
    return Advice(
        rule=rule,
        label=label,
        severity=severity,
        text=text,
        description=description(text, details),
        details=details,
    )


def details_of(finding: Finding, filter_id: str) -> HitDetails:
    """Return ``finding`` as it is sent."""
    tensor, *inputs = finding.measured or _measured(finding)
    return HitDetails(
        filter=filter_id,
        module=finding.module,
        op=finding.op,
        phase=finding.phase,
        step=finding.step,
        rank=finding.rank,
        source=finding.source.location,
        origin=finding.origin.location,
        tensor=tensor,
        inputs=tuple(inputs),
        suggestions=finding.suggestions,
        finite_before=finding.finite_before,
        note=finding.note,
        stack=tuple(place_of(f.f_code, f.f_lasti).location for f in user_frames(finding.frame)),
        epoch=finding.epoch,
        evidence=finding.evidence,
        upstream=finding.upstream,
        downstream=finding.downstream,
        before=finding.before,
        changed=finding.changed,
        writer=finding.writer,
    )


def _measured(finding: Finding) -> tuple[Stats, ...]:
    inputs = finding.inputs[:_MAX_INPUTS]
    return (stats_of(finding.tensor), *(stats_of(x, name) for name, x in inputs))


def stats_of(x: Tensor | None, name: str | None = None) -> Stats:
    """Return the statistics of ``x``, which may be gone."""
    if x is None:
        return Stats(shape=(), dtype=UNKNOWN, device=UNKNOWN, size=0, bytes=0, name=name)
    stats = exact_stats(x)
    return dataclasses.replace(stats, name=name) if name else stats


def sentence(finding: Finding, stats: Stats) -> str:
    """Return the one sentence with numbers, e.g. ``NaN in output of fc (forward, step 3): …``."""
    when = finding.phase if finding.step is None else f"{finding.phase}, step {finding.step}"
    if finding.rank is not None:
        when += f", rank {finding.rank}"
    text = f"{finding.headline or f'{kind(finding)} in {finding.subject}'} ({when})"
    bad = finding.nan + finding.inf
    if finding.headline is not None:
        text += f": {finding.numbers}" if finding.numbers else ""
    elif stats.size:
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
    if details.tensor.dtype != UNKNOWN:
        if details.before is not None:
            lines += [f"  before  {stats_line(details.before)}"]
        name = "after" if details.before is not None else details.tensor.name or "result"
        lines += [f"  {name}  {stats_line(details.tensor)}"]
    lines += [f"  {x.name or 'input'}  {stats_line(x)}" for x in details.inputs]
    if details.evidence:
        lines += ["", *(f"  {line}" for line in details.evidence)]
    lines += _tree("Comes from", details.upstream) + _tree("Goes to", details.downstream)
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


def _tree(title: str, neighbours: tuple[Neighbour, ...]) -> list[str]:
    """Return the lines of a tree of neighbours."""
    if not neighbours:
        return []
    lines = ["", f"{title}:"]
    for near in neighbours:
        stats = f"  {stats_line(near.tensor)}" if near.tensor is not None else ""
        at = f"  {place_name(near.source)}" if near.source is not None else ""
        op = f" ({near.op})" if near.op and near.op != near.name else ""
        lines.append(f"{'  ' * near.depth}{near.name}{op}{stats}{at}")
    return lines


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
