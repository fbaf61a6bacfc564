"""``zentracer/step``: how far each process is, at most ten times a second."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zentracer.wire.codec import to_json
from zentracer.wire.editor import StepSeen
from zentracer.wire.messages import Step
from zentracer_dap.coalesce import Coalesced
from zentracer_dap.peers.runtime import Runtime

if TYPE_CHECKING:
    from zentracer_dap.run import Run


class Steps:
    """The latest step of each process of one debugged program."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._latest: dict[int, StepSeen] = {}
        self._states: dict[int, Coalesced] = {}

    def seen(self, runtime: Runtime, step: Step) -> None:
        """Tell that ``runtime`` has come to ``step``."""
        pid = runtime.pid
        self._latest[pid] = StepSeen(
            pid=pid,
            step=step.step,
            rank=self._run.arming.rank(runtime),
            loss=step.loss,
            overhead=step.overhead,
        )
        if pid not in self._states:
            self._states[pid] = Coalesced(lambda: self._send(pid))
        self._states[pid].changed()

    def gone(self, pid: int) -> None:
        """Tell the last step of a process that is gone."""
        state = self._states.pop(pid, None)
        if state is not None:
            state.flush()

    def flush(self) -> None:
        """Send the steps that wait to be sent."""
        for state in self._states.values():
            state.flush()

    def _send(self, pid: int) -> None:
        self._run.editor_event("zentracer/step", to_json(self._latest[pid]))
