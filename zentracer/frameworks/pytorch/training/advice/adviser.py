"""What the rules have in common.

RUNS IN the training process. A rule is on in every session, so it must cost next to nothing and
hardly ever be wrong: it looks at rare calls, a few times, and stays silent in doubt.
"""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any, Callable

from torch import Tensor

from zentracer.control.source import Place, place_of
from zentracer.frameworks.pytorch.report import Finding
from zentracer.frameworks.pytorch.training.detector import Detector
from zentracer.wire.filters import Filter
from zentracer.wire.messages import Suggestion


@dataclass(frozen=True)
class Rule:
    """One thing that may be wrong."""

    name: str
    label: str
    severity: str = "warning"
    """``warning``, or ``info`` where it may be meant."""

    @property
    def filter(self) -> Filter:
        """What stands for the rule among the detectors; it is offered nowhere."""
        return Filter(
            id=f"zentracer.advice.{self.name}",
            label=self.label,
            default=False,
            description="Listed without stopping.",
        )


class Adviser(Detector):
    """A detector that lists what it finds."""

    def tell(
        self,
        rule: Rule,
        frame: types.FrameType,
        numbers: str,
        *,
        headline: str | None = None,
        op: str = "",
        phase: str = "forward",
        origin: Place | None = None,
        module: str | None = None,
        tensor: Tensor | None = None,
        suggestions: tuple[Suggestion, ...] = (),
        evidence: tuple[str, ...] = (),
        note: str | None = None,
    ) -> None:
        """List what was found.

        Args:
            rule: what is wrong.
            frame: the user's frame where it shows.
            numbers: the end of the sentence.
            headline: its beginning; the rule's label where it is None.
            op: the torch call concerned.
            phase: of the training step.
            origin: the line to blame; that of ``frame`` where it is None.
            module: qualified name of the module concerned.
            tensor: a value to show.
            suggestions: what to try.
            evidence: lines of a table.
            note: limits of what is known.
        """
        source = place_of(frame.f_code, frame.f_lasti, op)
        finding = Finding(
            op=op,
            phase=phase,
            tensor=tensor,
            nan=0,
            inf=0,
            source=source,
            origin=origin or source,
            subject=headline or rule.label,
            module=module,
            suggestions=suggestions,
            note=note,
            frame=frame,
            filter=rule.filter,
            headline=headline or rule.label,
            numbers=numbers,
            evidence=evidence,
        )
        self.training.advise(rule.name, rule.label, rule.severity, finding)

    def guarded(self, doing: str, method: Callable[..., None], *args: Any) -> None:
        """Call a method of ours from a replaced function of torch's."""
        self.training.guarded(self, doing, method, *args)
