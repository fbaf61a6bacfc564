"""``step`` and ``step:N``: stops at the line that completes a training step.

RUNS IN the training process.
"""

from __future__ import annotations

import types

from zentracer.frameworks.pytorch.breaks.by_name import Asking, NameBreaks
from zentracer.frameworks.pytorch.breaks.moment import Moment
from zentracer.frameworks.pytorch.training.events import Update


class StepBreaks(NameBreaks):
    """All breakpoints on steps."""

    kind = "step"

    def update_ended(self, update: Update) -> None:
        """Stop at ``optimizer.step()`` if that completes a step."""
        if update.is_step and self.training.watch.marked_number is None:
            self._completed(update.frame, f"{type(update.optimizer).__name__}.step")

    def step_marked(self, frame: types.FrameType | None) -> None:
        """Stop at ``zentracer.step()``."""
        self._completed(frame, "zentracer.step")

    def _completed(self, frame: types.FrameType | None, op: str) -> None:
        if frame is None:
            return
        step = self.training.watch.step or 0
        asking = [Asking(one) for one in self.functions if not one.name or int(one.name) == step]
        if asking:
            headline = f"Step {step} is complete"
            moment = Moment(
                self.training, frame, headline=headline, subject="step", op=op, phase="update"
            )
            self.ask(asking, moment)
