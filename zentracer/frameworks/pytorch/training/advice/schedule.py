"""``scheduler_rhythm``: a learning-rate schedule that is stepped too early, too often, too seldom.

RUNS IN the training process, around ``LRScheduler.step``. What a schedule was made for is told by
its own numbers: a ``T_max`` that equals the number of epochs is stepped once an epoch.
"""

from __future__ import annotations

import functools
import sys
import types
import weakref
from dataclasses import dataclass
from typing import Any, Callable

from torch.optim import lr_scheduler
from torch.optim.lr_scheduler import LRScheduler

from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.replace import Replacements
from zentracer.frameworks.pytorch.training.advice.adviser import Adviser, Rule
from zentracer.frameworks.pytorch.training.advice.loops import Loop, loops_around
from zentracer.frameworks.pytorch.training.advice.running import site
from zentracer.frameworks.pytorch.training.events import Update
from zentracer.wire.messages import Suggestion

RULE = Rule("scheduler_rhythm", "Schedule at the wrong rhythm")
AGAIN = Rule("scheduler_rhythm", "Schedule runs past its end", "info")
_FILE = lr_scheduler.__file__
_PAST = 2
"""Steps beyond ``T_max``; one more than it may be a matter of counting."""


_NOTHING = 1e-4
"""Part of its first value to which a rate may fall within the first of several turns of the outer
loop. A whole training commonly ends at a hundredth or a thousandth."""


@dataclass
class _Schedule:
    """What has been seen of one scheduler."""

    first: tuple[int, int]
    """Where it was stepped first."""
    was_early: bool
    """Whether its optimiser had not stepped by then."""
    calls: int = 0
    updates: int = 0
    """Steps of the optimiser since it was stepped last."""
    turn: int | None = None
    """The turn of the outer loop at first; None once it is known that nothing is wrong."""
    fell_after: int = 0
    """Calls after which the rate had fallen to nothing, in that turn."""


class Schedules(Adviser):
    """Compares how often schedules are stepped with what they were made for."""

    filter = RULE.filter

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._seen: weakref.WeakKeyDictionary[LRScheduler, _Schedule] = weakref.WeakKeyDictionary()
        self._stepped: weakref.WeakSet[Any] = weakref.WeakSet()
        self._replaced = Replacements()
        self._replaced.put(LRScheduler, "step", self._around)

    def close(self) -> None:
        """Leave no trace."""
        self._replaced.remove()
        self._seen.clear()

    def update_ended(self, update: Update) -> None:
        """An optimiser has stepped."""
        self._stepped.add(update.optimizer)
        for scheduler, seen in list(self._seen.items()):
            if _optimizer(scheduler) is update.optimizer:
                seen.updates += 1

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def step(scheduler: Any, *args: Any, **kwargs: Any) -> Any:
            frame = sys._getframe(1)
            result = original(scheduler, *args, **kwargs)
            if frame.f_code.co_filename != _FILE:  # neither its constructor nor one made of several
                user = user_frame(frame)
                if user is not None:
                    self.guarded("at a scheduler", self._scheduled, scheduler, user)
            return result

        return step

    def _scheduled(self, scheduler: Any, frame: types.FrameType) -> None:
        seen = self._seen.get(scheduler)
        if seen is None:
            optimizer = _optimizer(scheduler)
            stepped = optimizer in self._stepped or getattr(optimizer, "_opt_called", False)
            seen = self._seen[scheduler] = _Schedule(site(frame), not stepped)
        seen.calls += 1
        updates, seen.updates = seen.updates, 0
        if seen.calls == 2 and site(frame) == seen.first and updates:
            loops = loops_around(frame)
            seen.turn = loops[1].turn if len(loops) > 1 and updates == 1 else None
            if not self._tell_rhythm(scheduler, loops, updates, frame):
                self._tell_early(scheduler, seen, frame)
        if isinstance(scheduler, _DECAYS):
            self._look_low(scheduler, seen, frame)
        if isinstance(scheduler, lr_scheduler.CosineAnnealingLR):
            self._look_past(scheduler, frame)

    def _look_low(self, scheduler: Any, seen: _Schedule, frame: types.FrameType) -> None:
        """Decay that is meant for epochs, but done in each batch, leaves nothing after the first.

        A schedule that is made anew in each turn, for each fold, is not seen in a second one.
        """
        calls = seen.calls
        is_due = not seen.fell_after or calls & (calls - 1) == 0  # to look at the source is slow
        if seen.turn is None or not is_due:
            return
        rate, first = scheduler.optimizer.param_groups[0]["lr"], scheduler.base_lrs[0]
        if not isinstance(rate, float) or not isinstance(first, (int, float)):
            return  # a tensor may be on an accelerator, which is not waited for
        if not 0 <= rate <= first * _NOTHING or not first:
            return
        loops = loops_around(frame)
        turn = loops[1].turn if len(loops) > 1 else None
        if not seen.fell_after:
            seen.fell_after = calls
            seen.turn = seen.turn if turn == seen.turn else None
        elif turn is not None and turn != seen.turn:
            seen.turn = None
            self._tell_low(scheduler, seen, rate, frame)

    def _tell_low(
        self, scheduler: Any, seen: _Schedule, rate: float, frame: types.FrameType
    ) -> None:
        kind = type(scheduler).__name__
        self.tell(
            RULE,
            frame,
            f"{kind} is stepped in each batch: the learning rate fell from "
            f"{scheduler.base_lrs[0]:.3g} to a ten-thousandth of it after {seen.fell_after} calls, "
            f"within the first turn of the outer loop, and is {rate:.3g} now",
            op=f"{kind}.step",
            phase="update",
            suggestions=(
                Suggestion(
                    title="call scheduler.step() once an epoch, outside the loop over batches",
                    why=f"gamma = {scheduler.gamma:g} is applied far too often to be one for "
                    "batches.",
                ),
            ),
        )

    def _tell_early(self, scheduler: Any, seen: _Schedule, frame: types.FrameType) -> None:
        """The first step came before the optimiser's, and so it goes on."""
        if not seen.was_early or self.training.watch.scaler is not None:
            return  # a gradient scaler skips the optimiser's first steps
        kind = type(scheduler).__name__
        self.tell(
            RULE,
            frame,
            f"{kind}.step() is called before the optimiser's first step: the first value of the "
            "schedule is skipped, and each value comes one step early",
            op=f"{kind}.step",
            phase="update",
            suggestions=(
                Suggestion(
                    title="call scheduler.step() after optimizer.step()",
                    why="since PyTorch 1.1 the first value is set when the schedule is made.",
                ),
            ),
        )

    def _tell_rhythm(
        self, scheduler: Any, loops: list[Loop], updates: int, frame: types.FrameType
    ) -> bool:
        mistake = _rhythm(scheduler, loops, updates)
        if mistake is None:
            return False
        op = f"{type(scheduler).__name__}.step"
        said, suggestion = mistake
        self.tell(RULE, frame, said, op=op, phase="update", suggestions=(suggestion,))
        return True

    def _look_past(self, scheduler: Any, frame: types.FrameType) -> None:
        """Cosine annealing rises again after ``T_max``."""
        if scheduler.last_epoch != scheduler.T_max + _PAST:
            return
        turns = 1
        for loop in loops_around(frame):
            if loop.turns is None or not loop.is_each_turn:
                return
            turns *= loop.turns
        if turns <= scheduler.T_max or turns % scheduler.T_max == 0:
            return  # whole cycles are meant
        self.tell(
            AGAIN,
            frame,
            f"T_max = {scheduler.T_max}, but it is stepped {turns} times: after T_max the learning "
            "rate rises again",
            op="CosineAnnealingLR.step",
            phase="update",
            suggestions=(
                Suggestion(
                    title=f"make it for T_max={turns}",
                    why="T_max counts calls of scheduler.step(); "
                    "CosineAnnealingWarmRestarts is for restarts.",
                ),
            ),
        )


def _rhythm(scheduler: Any, loops: list[Loop], updates: int) -> tuple[str, Suggestion] | None:
    """Return what is wrong with how often a schedule is stepped, and what to do."""
    total, named = _length(scheduler)
    inner = loops[0].turns if loops and loops[0].is_each_turn else None
    outer = loops[1].turns if len(loops) > 1 else None
    if total is None or inner is None or inner < 2:
        return None
    kind = type(scheduler).__name__
    if updates > 1 and total == inner * updates:
        return (
            f"{kind} is made for batches ({named} = {total}, {inner} epochs of {updates} steps), "
            f"but is stepped once an epoch: it gets to {inner} of {total}",
            Suggestion(
                title="call scheduler.step() after each optimizer.step()",
                why=f"or make it for {inner} steps, the number of epochs.",
            ),
        )
    if updates > 1 or outer is None or outer < 2 or inner * outer < 2 * total:
        return None
    by_milestones = isinstance(scheduler, lr_scheduler.MultiStepLR)
    if total != outer and not (by_milestones and outer / 2 <= total <= outer):
        return None
    return (
        f"{kind} is made for epochs ({named} = {total}, and there are {outer}), but is stepped in "
        f"each of {inner} batches: it is through in epoch {-(-total // inner)}",
        Suggestion(
            title="call scheduler.step() once an epoch, outside the loop over batches",
            why=f"or make it for {inner * outer} steps, the number of batches in all epochs.",
        ),
    )


def _optimizer(scheduler: Any) -> Any:
    return getattr(scheduler, "optimizer", None)


def _length(scheduler: Any) -> tuple[int | None, str]:
    """Return how many steps a schedule is made for, and what says so."""
    if isinstance(scheduler, lr_scheduler.MultiStepLR):
        return max(scheduler.milestones, default=None), "last milestone"
    for cls, name in _LENGTHS:
        if isinstance(scheduler, cls):
            return int(getattr(scheduler, name)), name
    return None, ""


_DECAYS = (lr_scheduler.StepLR, lr_scheduler.ExponentialLR)
"""Schedules without a length, which only fall."""
_LENGTHS: tuple[tuple[type, str], ...] = (
    (lr_scheduler.CosineAnnealingLR, "T_max"),
    (lr_scheduler.OneCycleLR, "total_steps"),
    (lr_scheduler.PolynomialLR, "total_iters"),
)
"""Schedules that are made to last for the whole training."""
