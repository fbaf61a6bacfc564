"""What is said about an exception, and how it is put on the wire.

RUNS IN the training process, when an exception is explained.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Optional

from zentracer.control.source import place_of
from zentracer.frameworks.pytorch.errors.failure import Failure
from zentracer.frameworks.pytorch.errors.making import made
from zentracer.frameworks.pytorch.errors.operands import Operand, module_name, operands_of
from zentracer.frameworks.pytorch.report import place_name, stats_line
from zentracer.observe.stats import stats
from zentracer.wire.filters import ERROR
from zentracer.wire.messages import (
    BreakpointHit,
    Fact,
    HitDetails,
    Location,
    Stats,
    Suggestion,
)

_LIMIT = 1 << 20
"""Elements of an operand that are looked at: some milliseconds."""
_NOTHING = Stats(shape=(), dtype="unknown", device="unknown", size=0, bytes=0)
_MOST_FRAMES = 64


@dataclass
class Explanation:
    """Everything that is known about one exception."""

    label: str
    """What kind it is, such as ``Shape mismatch``."""
    text: str
    """One sentence with names and numbers."""
    op: str = ""
    origin: Optional[Location] = None
    """The line to blame, where it is not the one that raised."""
    facts: list[Fact] = field(default_factory=list)
    suggestions: list[Suggestion] = field(default_factory=list)
    operands: Optional[tuple[Operand, ...]] = None
    """Those of the failing call unless given."""
    blamed: Optional[Operand] = None
    """The operand that is wrong."""
    phase: str = ""

    def fact(self, text: str, at: Optional[Location] = None) -> None:
        """Add a sentence, and the line it is about."""
        self.facts.append(Fact(text=text, location=at))

    def suggest(self, title: str, why: str, edit: object = None) -> None:
        """Add something to do; ``edit`` may be None."""
        self.suggestions.append(Suggestion(title=title, why=why, edit=edit))  # type: ignore[arg-type]


def hit_of(failure: Failure, said: Explanation, rank: Optional[int] = None) -> BreakpointHit:
    """Return the message for ``said``."""
    source = failure.source.location
    given = operands_of(failure) if said.operands is None else said.operands
    inputs = tuple(_stats(one) for one in given)
    module = failure.module
    watch = failure.watch
    details = HitDetails(
        filter=ERROR.id,
        module=module_name(failure, module) if module is not None else None,
        op=said.op or type(failure.error).__name__,
        phase=said.phase or "forward",
        step=watch.step if watch is not None else None,
        rank=rank,
        source=source,
        origin=said.origin or failure.place.location,
        tensor=_NOTHING,
        inputs=inputs,
        suggestions=tuple(said.suggestions),
        note=" ".join(failure.notes) or None,
        stack=tuple(
            place_of(spot.code, spot.lasti).location for spot in failure.users[:_MOST_FRAMES]
        ),
        text=said.text,
        facts=(*said.facts, *_made_facts(failure, given, said.facts)),
    )
    return BreakpointHit(
        breakpoint_ids=(),
        label=said.label,
        where=place_name(details.origin),
        text=said.text,
        description=description(details),
        details=details,
    )


def description(details: HitDetails) -> str:
    """Return the several lines of the exception widget: what, why, try."""
    lines = [details.text or ""]
    if details.origin.text:
        lines += ["", f"{place_name(details.origin)}:  {details.origin.text.strip()}"]
    lines += [f"  {one.name or 'input'}  {stats_line(one)}" for one in details.inputs]
    if details.facts:
        lines += ["", *map(fact_line, details.facts)]
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


def fact_line(fact: Fact) -> str:
    """Return a fact with its line: ``h was made here (train.py:25: h = …)``."""
    if fact.location is None:
        return fact.text
    text = (fact.location.text or "").strip()
    return f"{fact.text} ({place_name(fact.location)}{': ' if text else ''}{text})"


def _made_facts(
    failure: Failure, given: tuple[Operand, ...], known: list[Fact]
) -> tuple[Fact, ...]:
    """Name the lines that made the operands, but for those a fact has named already."""
    said = {(fact.location.path, fact.location.line) for fact in known if fact.location}
    here = failure.source.location
    said.add((here.path, here.line))
    found: list[Fact] = []
    for one in given:
        line = None if one.is_parameter else made(failure, one.value)
        if line is None or (line.location.path, line.location.line) in said:
            continue
        said.add((line.location.path, line.location.line))
        found.append(Fact(text=f"{line.name} was made here", location=line.location))
    return tuple(found)


def _stats(one: Operand) -> Stats:
    return dataclasses.replace(stats(one.value, limit=_LIMIT), name=one.name or one.role or None)
