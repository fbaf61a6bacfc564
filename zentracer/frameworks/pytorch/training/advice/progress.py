"""``loss_not_decreasing`` and ``overfit``: what the losses of a run say.

RUNS IN the training process.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from torch import Tensor

from zentracer.frameworks.pytorch.finite import readable_tensor
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.nodes import saved
from zentracer.frameworks.pytorch.training.advice.adviser import Adviser, Rule
from zentracer.frameworks.pytorch.training.advice.words import words_of
from zentracer.frameworks.pytorch.training.events import Backward
from zentracer.wire.messages import Suggestion

FLAT = Rule("loss_not_decreasing", "Loss does not decrease", "info")
OVERFIT = Rule("overfit", "Overfitting", "info")
_AFTER = 500
"""Steps before the loss is judged; warm-ups are mostly over by then."""
_WINDOW = 100
_AT_CHANCE = 0.01
"""Share of ln(classes) within which a loss is that of guessing."""
_NOISE = 3.0
"""Standard errors by which a loss must lie below that of guessing to count as learning."""
_MOST_SITES = 8
_MOST_NAMES = 64
_MOST_POINTS = 4096
"""Values of one name that are kept; of more, every second one goes."""
_POINTS_AFTER = 4
"""Validations in a row after the best one, all worse."""
_WORSE, _CLEARLY = 1.05, 1.1
"""Times the best validation loss: each of them, and the last."""
_VALIDATION = frozenset("val valid validation test dev eval evaluation".split())


@dataclass
class _Losses:
    """Those of one line that calls backward."""

    classes: int
    count: int = 0
    last: deque[float] = field(default_factory=lambda: deque[float](maxlen=_WINDOW))


class _Point(NamedTuple):
    """A value that was logged."""

    order: int
    """Its place among all that was logged."""
    step: int
    value: float


class Progress(Adviser):
    """Follows the losses."""

    filter = FLAT.filter

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._losses: dict[tuple[int, ...], _Losses | None] = {}
        self._logged: dict[str, list[_Point]] = {}
        self._order = 0

    def close(self) -> None:
        """Forget the losses."""
        self._losses.clear()
        self._logged.clear()

    def backward_starts(self, run: Backward) -> None:
        """Note a loss of classification."""
        root = run.roots[0] if len(run.roots) == 1 else None
        if not isinstance(root, Tensor) or root.numel() != 1 or root.grad_fn is None:
            return
        if root.grad_fn.name() != "NllLossBackward0" or readable_tensor(root) is not root:
            return
        losses = self._losses_of(run.site, root.grad_fn)
        if losses is None:
            return
        losses.count += 1
        if losses.count > _AFTER:
            self._losses[run.site] = None
            self._judge(losses, run)
        elif losses.count > _AFTER - _WINDOW:
            self.training.readout.read(
                root.detach().float().reshape(1), lambda numbers: losses.last.append(numbers[0])
            )

    def _losses_of(self, site: tuple[int, ...], node: Any) -> _Losses | None:
        if site not in self._losses and len(self._losses) < _MOST_SITES:
            scores = saved(node, "self")
            classes = scores.shape[1] if scores is not None and scores.dim() == 2 else None
            self._losses[site] = _Losses(classes) if classes is not None else None
        return self._losses.get(site)

    def _judge(self, losses: _Losses, run: Backward) -> None:
        guess = math.log(losses.classes) if losses.classes > 1 else 0.0
        seen = list(losses.last)
        if len(seen) < _WINDOW // 2 or not guess or run.frame is None:
            return
        mean, error = statistics.fmean(seen), statistics.stdev(seen) / math.sqrt(len(seen))
        if abs(mean - guess) > _AT_CHANCE * guess or guess - mean > _NOISE * error:
            return
        self.tell(
            FLAT,
            run.frame,
            f"after {losses.count - 1} steps it is {mean:.4g}, and guessing among "
            f"{losses.classes} classes gives ln({losses.classes}) = {guess:.4g}",
            headline="The loss is still that of guessing",
            op="backward",
            phase="loss",
            suggestions=(
                Suggestion(
                    title="try to overfit a single batch",
                    why="a model that cannot learn even one batch has a fault: look at the "
                    "learning rate, at whether targets belong to their inputs, and arm 'Vanishing "
                    "gradient', 'Dead units' and 'Parameter not learning'.",
                ),
            ),
        )

    def logged(self, name: str, value: float) -> None:
        """Compare a validation loss with its best, and with the training loss."""
        words = words_of(name)
        if "loss" not in words or not math.isfinite(value):
            return
        self._order += 1
        if name not in self._logged and len(self._logged) >= _MOST_NAMES:
            return
        series = self._logged.setdefault(name, [])
        series.append(_Point(self._order, self.training.watch.step or 0, value))
        if words & _VALIDATION:
            _drop_what_was_beaten(series)
            self._look_for_overfit(name, series)
        elif len(series) >= _MOST_POINTS:
            del series[::2]

    def _look_for_overfit(self, name: str, series: list[_Point]) -> None:
        best, lowest = series[0], series[0].value
        after = [point.value for point in series[1:]]
        frame = user_frame(sys._getframe(1))
        if frame is None or len(after) < _POINTS_AFTER or lowest <= 0:
            return
        if min(after) < _WORSE * lowest or after[-1] < _CLEARLY * lowest:
            return
        train = self._training_loss(best.order)
        if train is None or train[1] >= train[0]:
            return
        self.tell(
            OVERFIT,
            frame,
            f"{name} was lowest at step {best.step} with {lowest:.4g} and is {after[-1]:.4g} now, "
            f"{len(after)} validations later, while the training loss fell from {train[0]:.4g} to "
            f"{train[1]:.4g}",
            op="log",
            phase="loss",
            suggestions=(
                Suggestion(
                    title=f"keep the weights of step {best.step}",
                    why="stop early, or train with more data, augmentation, dropout or weight "
                    "decay.",
                ),
            ),
        )

    def _training_loss(self, order: int) -> tuple[float, float] | None:
        """Return the training loss that was logged by then, and the last one."""
        names = [name for name in self._logged if not words_of(name) & _VALIDATION]
        if len(names) != 1:
            return None
        series = self._logged[names[0]]
        half = max(1, len(series) // 10)
        before = [point.value for point in series if point.order <= order][-half:]
        now = [point.value for point in series][-half:]
        return (statistics.fmean(before), statistics.fmean(now)) if before else None


def _drop_what_was_beaten(series: list[_Point]) -> None:
    """Let ``series`` begin with its lowest value; in the middle of a long one, some go."""
    index = min(range(len(series)), key=lambda index: series[index].value)
    del series[:index]
    if len(series) >= _MOST_POINTS:
        del series[1:-1:2]
