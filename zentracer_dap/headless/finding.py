"""Findings: what the runtime reported, decoded, and how often each came back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from zentracer.wire.decode import decode
from zentracer.wire.filters import FUNCTION
from zentracer.wire.messages import HitDetails

Json = dict[str, Any]


@dataclass
class Finding:
    """One thing found, at one place, on one rank."""

    label: str
    """The filter's label, such as ``NaN or Inf``."""
    text: str
    """One sentence with numbers."""
    details: HitDetails
    raw: Json
    """``details`` as it came, for ``--json``."""
    count: int = 1
    """How often it was hit."""
    rule: str = ""
    """Of advice, the rule's name."""

    @property
    def place(self) -> tuple[str, str, int]:
        """Equal for hits with the same cause: filter or rule, and line to blame.

        On one line there may be breakpoints on several modules and operations.
        """
        details = self.details
        named = f" {details.module} {details.op}" if details.filter == FUNCTION.id else ""
        return (
            (self.rule or details.filter) + named,
            self.details.origin.path,
            self.details.origin.line,
        )


@dataclass
class Findings:
    """All findings of a run, in the order they came."""

    items: list[Finding] = field(default_factory=list[Finding])

    def __len__(self) -> int:
        return len(self.items)

    def add(self, finding: Finding) -> Finding | None:
        """Count ``finding``; returns the earlier one if this place and rank are known."""
        for known in self.items:
            if known.place == finding.place and known.details.rank == finding.details.rank:
                known.count += 1
                return known
        self.items.append(finding)
        return None

    def elsewhere(self, finding: Finding) -> Finding | None:
        """The same finding made earlier by another rank, None if there is none."""
        for known in self.items:
            if known is not finding and known.place == finding.place:
                return known
        return None


ADVICE = "zentracer.advice"
"""``details.filter`` of what is listed without stopping."""


def read_advice(listed: Json) -> Finding | None:
    """Read an entry of ``zentracer/findings``; None if it is no advice.

    Raises:
        WireError: the details are not those of a finding.
    """
    details: Json = listed.get("details") or {}
    if details.get("filter") != ADVICE:
        return None
    raw: Json = {**details, "stack": listed.get("stack") or [], "rule": listed.get("rule")}
    hit = decode(HitDetails, raw, "details")
    return Finding(
        label=str(listed.get("label")),
        text=str(listed.get("message")),
        details=hit,
        raw=raw,
        rule=str(listed.get("rule")),
    )


def read_finding(info: Json) -> Finding:
    """Read an ``exceptionInfo`` body.

    Raises:
        WireError: the details are not those of a finding.
    """
    details: Json = info.get("details") or {}
    raw: Json = details.get("zentracer") or {}
    hit = decode(HitDetails, raw, "details.zentracer")
    name = str(info.get("exceptionId") or hit.filter)
    return Finding(
        label=name.partition("  ")[0],  # debugpy may add a note to the name of an exception
        text=hit.text or str(details.get("message") or info.get("description") or hit.filter),
        details=hit,
        raw=raw,
    )
