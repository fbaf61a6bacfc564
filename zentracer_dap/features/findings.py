"""``zentracer/findings``: everything that was found in any process, each thing once.

The hits of children are among them, also of those that no editor attaches to.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Optional, Tuple

from zentracer.wire.codec import to_json
from zentracer.wire.editor import Finding
from zentracer.wire.editor import Findings as FindingsBody
from zentracer.wire.filters import NONFINITE
from zentracer.wire.messages import BreakpointHit
from zentracer_dap.coalesce import Coalesced

if TYPE_CHECKING:
    from zentracer_dap.run import Run

KEPT = 200
"""How many findings are kept; beyond, the oldest of those that were seen least has to go."""

_ERRORS = frozenset((NONFINITE.id,))

_Key = Tuple[str, str, int, Optional[str], str]


class Findings:
    """The findings of one debugged program."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._findings: dict[_Key, Finding] = {}
        self._state = Coalesced(self._send)

    def add(self, hit: BreakpointHit, pid: int) -> None:
        """Take a hit of process ``pid`` in."""
        key = _key(hit)
        known = self._findings.get(key)
        if known is None and len(self._findings) >= KEPT:
            del self._findings[min(self._findings, key=lambda k: self._findings[k].count)]
        self._findings[key] = _finding(hit, pid, known.count + 1 if known else 1)
        self._state.changed()

    def restarted(self) -> None:
        """Forget them: the program begins anew."""
        if self._findings:
            self._findings.clear()
            self._state.changed()

    def flush(self) -> None:
        """Send the list if it waits to be sent."""
        self._state.flush()

    def _send(self) -> None:
        body = FindingsBody(findings=tuple(self._findings.values()))
        self._run.editor_event("zentracer/findings", to_json(body))


def _key(hit: BreakpointHit) -> _Key:
    details = hit.details
    origin = details.origin
    return details.filter, origin.path, origin.line, details.module, details.op


def _finding(hit: BreakpointHit, pid: int, count: int) -> Finding:
    details = hit.details
    return Finding(
        rule=details.filter,
        label=hit.label,
        message=hit.text,
        severity="error" if details.filter in _ERRORS else "warning",
        source=details.origin,
        count=count,
        stack=details.stack,
        pid=pid,
        rank=details.rank,
        # The stack is there already, and it is most of what a finding weighs.
        details=replace(details, stack=()),
    )
