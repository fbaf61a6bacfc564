"""``zentracer.loss_spike``: the loss leaves its own recent range.

RUNS IN the training process. What is watched is the value that backward is called on, or what the
program says with ``zentracer.log("loss", value)``; each place that calls backward has a history of
its own, so that losses that take turns do not mix.
"""

from __future__ import annotations

import re
import sys
import types
import weakref
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Hashable

from torch import Tensor

from zentracer.frameworks.base import ArmedFilter
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.trail import Site
from zentracer.frameworks.pytorch.training import loss_words
from zentracer.frameworks.pytorch.training.detector import Detector
from zentracer.frameworks.pytorch.training.events import Backward, Update
from zentracer.frameworks.pytorch.training.loss_history import LossHistory
from zentracer.wire.filters import LOSS_SPIKE

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.hub import Training

_MAX_HISTORIES = 64
_TRAINING_LOSS = re.compile(r"(^|[/_. ])loss$", re.IGNORECASE)
_OTHER_DATA = re.compile(r"val|test|eval|dev", re.IGNORECASE)


@dataclass(frozen=True)
class Value:
    """A loss on its way to be judged."""

    key: Hashable
    value: float
    made: Site | None
    """The line that made it, where that is known."""
    is_late: bool
    root: Tensor | None = None
    """The loss itself, while its graph is whole: only within the event it came with."""


class LossSpike(Detector):
    """Compares each loss with those before."""

    filter = LOSS_SPIKE

    def __init__(self, training: Training, armed: tuple[ArmedFilter, ...]) -> None:
        super().__init__(training, armed)
        self._histories: dict[Hashable, LossHistory] = {}
        self._arrived: deque[Value] = deque(maxlen=64)
        self._optimizers: weakref.WeakSet[Any] = weakref.WeakSet()

    def close(self) -> None:
        """Forget everything."""
        self._histories.clear()
        self._arrived.clear()
        self._optimizers.clear()

    # -- where values come from --------------------------------------------------------------------

    def backward_starts(self, run: Backward) -> None:
        """Read the loss, while its graph still knows what it was made of."""
        steps = self.training.watch.steps
        if not run.accumulates or steps.is_logged:
            return
        loss = steps.loss_of(run.roots)
        if loss is None:
            return
        root, key = run.roots[0], run.site
        made = self._site_of(root)
        if loss.value is not None:
            self._judge(Value(key, loss.value, made, False, root), run.frame)
        elif loss.copy is not None:
            self.training.readout.read(
                loss.copy.reshape(1),
                lambda found: self._arrived.append(Value(key, found[0], made, True)),
            )

    def backward_ended(self, run: Backward) -> None:
        """Judge what has arrived from a device."""
        self._judge_arrived(run.frame)

    def update_starts(self, update: Update) -> None:
        """Judge what has arrived from a device."""
        self._optimizers.add(update.optimizer)
        self._judge_arrived(update.frame)

    def logged(self, name: str, value: float) -> None:
        """Judge a loss that the program says itself."""
        if _TRAINING_LOSS.search(name) and not _OTHER_DATA.search(name):
            self._judge(Value(("log", name), value, None, False), user_frame(sys._getframe(1)))

    def _site_of(self, root: Any) -> Site | None:
        node = root.grad_fn if isinstance(root, Tensor) else None
        return self.training.watch.site_of_node(node) if node is not None else None

    # -- judging -----------------------------------------------------------------------------------

    def _judge_arrived(self, frame: types.FrameType | None) -> None:
        while self._arrived:
            self._judge(self._arrived.popleft(), frame)

    def _judge(self, loss: Value, frame: types.FrameType | None) -> None:
        history = self._histories.get(loss.key)
        if history is None:
            if len(self._histories) >= _MAX_HISTORIES:
                self._histories.pop(next(iter(self._histories)))
            history = self._histories[loss.key] = LossHistory()
        verdict = history.take(loss.value, rivals=len(self._optimizers))
        if frame is None or (verdict is None and not self.custom):
            return
        seen = loss_words.Seen(self.training, loss.value, loss.root, loss.made, frame, loss.is_late)
        custom = self._holding(self.custom, seen)
        if custom:
            self.training.stop(custom, loss_words.over_threshold(seen), frame)
        wanted = self._holding(self.adaptive, seen) if verdict is not None else ()
        if verdict is not None and wanted and self.training.is_fresh(self.filter.id):
            finding = loss_words.spike(seen, verdict, self._optimizers)
            self.training.stop(wanted, finding, frame)

    def _holding(
        self, armed: tuple[ArmedFilter, ...], seen: loss_words.Seen
    ) -> tuple[ArmedFilter, ...]:
        return tuple(one for one in armed if self.training.holds(one, seen.value_of))
