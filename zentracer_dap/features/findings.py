"""``zentracer/findings``: everything that was found in any process, each thing once.

The hits of children are among them, also of those that no editor attaches to.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Optional, Tuple, cast

from zentracer.wire.codec import decode, to_json
from zentracer.wire.editor import Finding
from zentracer.wire.editor import Findings as FindingsBody
from zentracer.wire.filters import ERROR, NONFINITE
from zentracer.wire.messages import Advice, BreakpointHit
from zentracer_dap.coalesce import Coalesced
from zentracer_dap.protocol.handlers import Overrides
from zentracer_dap.protocol.messages import Json, body_of

if TYPE_CHECKING:
    from zentracer_dap.run import Run
    from zentracer_dap.session import Session

KEPT = 200
"""How many findings are kept; beyond, the oldest of those that were seen least has to go."""

_ERRORS = frozenset((NONFINITE.id, ERROR.id))

_Key = Tuple[str, str, int, Optional[str], str]


class Findings:
    """The findings of one debugged program."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._findings: dict[_Key, Finding] = {}
        self._state = Coalesced(self._send)

    def add(self, hit: BreakpointHit, pid: int) -> None:
        """Take a hit of process ``pid`` in."""
        severity = "error" if hit.details.filter in _ERRORS else "warning"
        self._add(hit.details.filter, hit.label, severity, hit, pid)

    def advise(self, advice: Advice, pid: int) -> None:
        """Take in what process ``pid`` lists without stopping."""
        self._add(advice.rule, advice.label, advice.severity, advice, pid)

    def restarted(self) -> None:
        """Forget them: the program begins anew."""
        if self._findings:
            self._findings.clear()
            self._state.changed()

    def flush(self) -> None:
        """Send the list if it waits to be sent."""
        self._state.flush()

    def _add(
        self, rule: str, label: str, severity: str, told: BreakpointHit | Advice, pid: int
    ) -> None:
        details = told.details
        key = (rule, details.origin.path, details.origin.line, details.module, details.op)
        known = self._findings.get(key)
        if known is None and len(self._findings) >= KEPT:
            del self._findings[min(self._findings, key=lambda k: self._findings[k].count)]
        self._findings[key] = Finding(
            rule=rule,
            label=label,
            message=told.text,
            severity=severity,
            source=details.origin,
            count=known.count + 1 if known else 1,
            stack=details.stack,
            pid=pid,
            rank=details.rank,
            # The stack is there already, and it is most of what a finding weighs.
            details=replace(details, stack=()),
        )
        self._state.changed()

    def _send(self) -> None:
        body = FindingsBody(findings=tuple(self._findings.values()))
        self._run.editor_event("zentracer/findings", to_json(body))


def register(overrides: Overrides) -> None:
    """Register what a runtime lists over debugpy's channel."""
    overrides.events.add(
        "zentracer/advice", "It is one of the findings, which are sent whole.", _on_advice
    )


def _on_advice(session: Session, event: Json) -> None:
    advice = decode(Advice, cast(Any, body_of(event)), "advice")
    run = session.run
    run.findings.advise(advice, (run.main_pid if session.is_root else session.pid) or 0)
