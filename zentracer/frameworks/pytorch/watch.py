"""The armed state of one process: what all filters share, and when to stop.

RUNS IN the training process.
"""

from __future__ import annotations

import sys
import threading
import types
import weakref
from typing import Any, Callable

import torch

from zentracer.control.condition import ConditionFailed
from zentracer.frameworks.base import ArmedFilter, Host
from zentracer.frameworks.pytorch import nonfinite
from zentracer.frameworks.pytorch.deferred import Deferred
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.main_thread import on_main_thread, soon_on_main_thread
from zentracer.frameworks.pytorch.meter import Meter
from zentracer.frameworks.pytorch.mode import (
    BothWatcher,
    OpsWatcher,
    Watcher,
    install,
    installed,
    remove_retired,
    uninstall,
)
from zentracer.frameworks.pytorch.plans import Plan
from zentracer.frameworks.pytorch.report import Finding, brief, hit_of, shown_at
from zentracer.frameworks.pytorch.steps import Steps
from zentracer.frameworks.pytorch.trail import METADATA_KEY, Site, Trail
from zentracer.frameworks.pytorch.training.hub import Training
from zentracer.frameworks.pytorch.unseen import unseen
from zentracer.frameworks.pytorch.values import hit_values
from zentracer.frameworks.pytorch.wanted import Wanted
from zentracer.wire.filters import NONFINITE

_MAX_SKIPPED = 25
# A scaler starts at 2**16 and halves: after 25 skipped steps in a row it is below 2**-9, and the
# overflow does not come from the scale.


class Watch:
    """What is armed, and what happened so far."""

    def __init__(
        self,
        host: Host,
        filters: tuple[ArmedFilter, ...],
        *,
        precise: bool,
        defer_cpu: bool = False,
    ) -> None:
        self.host = host
        self.filters = filters
        self.precise = precise
        self.defer_cpu = defer_cpu
        """Treat CPU tensors as if they were on an accelerator (to test those paths)."""
        self.deferred = Deferred(self)
        self.training = Training(self)
        """The other filters."""
        self.local = threading.local()
        self.watchers: dict[int, Watcher] = {}
        self.main: Watcher | None = None
        self.marked = False
        """Whether nodes were made on other threads, and carry their site themselves."""
        self.steps = Steps(self)
        self.meter: Meter | None = None
        """Of the step that is being timed, if one is."""
        self.on_idle: Callable[[], None] = lambda: None
        """Called when no thread has a watcher any more although something was armed."""
        self._removal_asked = False
        self._when_gone: Callable[[], None] = lambda: None
        self.suspects: set[Site] = set()
        """Where a value on an accelerator went bad once: these are checked while they execute."""
        self.polluted = False
        """A reported value may still be about; what it spreads to is no new finding."""
        self.step: int | None = None
        """Optimiser steps completed, None before the first optimiser was seen."""
        self.counted = 0
        """Steps that optimisers have completed."""
        self.marked_number: int | None = None
        """The last step that the program has marked with ``zentracer.step``; then those count."""
        self.backward_depth = 0
        self.scaler: weakref.ref[Any] | None = None
        """The gradient scaler that scaled the last loss."""
        self.skipped = 0
        """Backward passes in a row whose overflow was left to the scaler."""
        self.overflowed = False
        """The gradients about overflowed so: clipping makes NaN of them before they are dropped."""

    @property
    def is_armed(self) -> bool:
        """Whether anything is watched for."""
        return bool(self.filters or self.training.detectors)

    @property
    def sees_calls(self) -> bool:
        """Whether each torch call must be seen, for which threads have a mode."""
        return bool(self.filters) or self.training.ops.wants_calls

    # -- threads ---------------------------------------------------------------------------

    def enter_thread(self) -> Watcher:
        """Start watching the calling thread."""
        watcher = getattr(self.local, "watcher", None)
        if watcher is None:
            watcher = self.local.watcher = Watcher(self)
            self.dress(watcher)
            self.watchers[watcher.ident] = watcher
            if threading.current_thread() is threading.main_thread():
                self.main = watcher
        install(watcher)
        return watcher

    def dress(self, watcher: Watcher) -> None:
        """Let ``watcher`` do what is armed. May be called on any thread."""
        if not self.training.ops.wants_calls:
            watcher.__class__ = Watcher
        else:
            watcher.__class__ = BothWatcher if self.filters else OpsWatcher

    def is_in_thread(self) -> bool:
        """Tell whether the calling thread has a watcher, if maybe off its stack right now."""
        return getattr(self.local, "watcher", None) is not None

    def leave_thread(self) -> None:
        """Stop watching the calling thread."""
        uninstall()
        remove_retired()
        watcher = getattr(self.local, "watcher", None)
        if watcher is not None:
            self._drop(watcher)

    def _drop(self, watcher: Watcher) -> None:
        self.local.watcher = None
        self.watchers.pop(watcher.ident, None)
        if not self.sees_calls and not self.watchers:
            self._when_gone()

    def step_aside(self) -> None:
        """Take the watcher off this thread's stack; it will be back where it was taken from."""
        uninstall()

    def rest(self, watcher: Watcher, wanted: bool) -> None:
        """Let a library optimiser work unwatched; its result is checked as a whole.

        The watcher leaves the stack, so that hundreds of small operations cost nothing. Inside a
        torch call it is off the stack already, and would come back: then it sleeps.
        """
        watcher.asleep = int(wanted)
        watcher.aside = wanted and installed() is watcher
        if watcher.aside:
            uninstall()

    def wake(self) -> None:
        """Watch again: the optimiser's step has ended, be it with an exception."""
        watcher = getattr(self.local, "watcher", None)
        if watcher is None:
            return
        aside, watcher.aside = watcher.aside, False
        if watcher.retired:
            if aside:
                self._drop(watcher)
            return
        watcher.asleep = 0
        if aside:
            install(watcher)

    def anyone(self) -> Watcher:
        """Return a watcher; checks of values do not depend on which."""
        return self.main or next(iter(self.watchers.values()), None) or self.enter_thread()

    def defers(self, x: torch.Tensor) -> bool:
        """Tell whether the check of ``x`` is left to the end of the step."""
        return (not x.is_cpu or self.defer_cpu) and not self.precise and not x.is_meta

    def site_of_node(self, node: Any) -> Site | None:
        """Return where ``node`` was made, if it is noted on it or in the main thread's trail."""
        marked = node.metadata.get(METADATA_KEY)
        if marked is not None or self.main is None:
            return marked
        return self.main.trail.find(node._sequence_nr())

    def only_one_thread(self) -> bool:
        """Tell whether all nodes were made on the thread that owns the trail."""
        return not self.marked

    # -- armed and not -----------------------------------------------------------------------

    def open(self, wanted: Wanted) -> None:
        """Watch for exactly these, also after ``close``."""
        if not self.filters:
            self.polluted = self.overflowed = False
        self.filters = tuple(a for a in wanted.filters if a.filter == NONFINITE.id)
        self.precise = wanted.precise
        self.training.open(wanted)
        self.steps.overhead.forget()
        if self.sees_calls:
            for watcher in list(self.watchers.values()):
                watcher.retired = False
                watcher.asleep = 0
                self.dress(watcher)

    def close(self, when_gone: Callable[[], None]) -> None:
        """Watch for nothing, and call ``when_gone`` once no thread has a watcher."""
        self.filters = ()
        self.training.close()
        self.let_go(when_gone)

    def let_go(self, when_gone: Callable[[], None]) -> None:
        """Make every watcher inert, and call ``when_gone`` once no thread has one.

        The main thread drops its own between two torch calls, other threads at the next step of
        an optimiser, the next backward pass or their end.
        """
        self.steps.overhead.forget()
        self._when_gone = when_gone
        alive = {thread.ident for thread in threading.enumerate()}
        for ident in self.watchers.keys() - alive:
            del self.watchers[ident]
        for watcher in list(self.watchers.values()):
            watcher.retired = True
            watcher.asleep = 1
            watcher.trail = Trail()
        if not self.watchers:
            when_gone()
        on_main_thread(self.remove_retired)

    def remove_retired(self) -> None:
        """Remove the calling thread's watcher if it is inert; inside a torch call it stays."""
        self._removal_asked = False
        if getattr(self.local, "in_backward", 0):
            return  # there it is on the stack a second time
        for watcher in remove_retired():
            watcher.watch._drop(watcher)

    def remove_retired_soon(self) -> None:
        """Remove an inert watcher that was inside a torch call when it was disarmed."""
        if not self._removal_asked and threading.current_thread() is threading.main_thread():
            self._removal_asked = True
            soon_on_main_thread(self.remove_retired)

    # -- steps -----------------------------------------------------------------------------

    def marked_step(self, number: int | None) -> None:
        """The program says that a step is complete: ``number``, or one more than the last."""
        self.marked_number = (self.marked_number or 0) + 1 if number is None else number
        self.step = self.marked_number
        self.steps.completed(self.step)
        self.training.step_marked(user_frame(sys._getframe(1)))
        self.steps.overhead.boundary()

    def counted_step(self, number: int) -> bool:
        """An optimiser has completed its step ``number``; return whether that is a new one."""
        before, self.counted = self.counted, number
        if self.marked_number is None:
            self.step = number
            self.steps.completed(number)
        return before != number

    # -- mixed precision -------------------------------------------------------------------

    def scaler_takes_care(self) -> bool:
        """Tell whether a gradient scaler will skip this step; overflow is part of its search."""
        scaler = self.scaler() if self.scaler is not None else None
        if scaler is None:
            return False
        self.skipped += 1
        self.overflowed = self.skipped < _MAX_SKIPPED
        return self.overflowed

    # -- findings --------------------------------------------------------------------------

    def inspect(
        self, watcher: Watcher, plan: Plan, func: Any, args: tuple[Any, ...],
        kwargs: dict[str, Any], out: Any, was_bad: bool, frame: types.FrameType,
    ) -> None:  # fmt: skip
        """Look closely at a result that failed the cheap check; stop if it is a finding."""
        if not self.filters or getattr(self.local, "busy", False):
            return
        self.local.busy = True
        try:
            with unseen():
                finding = nonfinite.forward_finding(
                    self, plan, func, args, kwargs, out, was_bad, frame
                )
            if finding is None:
                return
            hit_frame, finding = finding
        except Exception as error:  # ours to report, never the training's to die from
            self.host.notice(
                f"ZenTracer could not examine the result of {plan.name}: {brief(error)}"
            )
            return
        finally:
            self.local.busy = False
        self.stop(finding, hit_frame)

    def report_failure(self, what: str, error: Exception) -> None:
        """Tell the user, once, that something of ours went wrong; the program goes on."""
        self.host.notice(f"ZenTracer could not {what}: {brief(error)}")

    def stop(self, finding: Finding, frame: types.FrameType) -> None:
        """Stop ``frame`` for ``finding`` if an armed filter's condition holds."""
        self.polluted = True
        self.stop_for(self.filters, finding, frame)

    def stop_for(
        self, filters: tuple[ArmedFilter, ...], finding: Finding, frame: types.FrameType
    ) -> bool:
        """Stop ``frame`` if the condition of one of ``filters`` holds; return whether one did."""
        try:
            self.complete(finding, frame)
            ids = tuple(armed.id for armed in filters if self._wanted(armed, finding))
            if ids:
                self.steps.stops(finding.step or 0)
                self.host.stop(hit_of(finding, ids), frame, tensors=shown_at(finding))
            return bool(ids)
        except Exception as error:  # ours to report, never the training's to die from
            self.host.notice(
                f"ZenTracer could not stop for the result of {finding.op}: {brief(error)}"
            )
            return False

    def complete(self, finding: Finding, frame: types.FrameType) -> None:
        """Add to ``finding`` what is known of the moment."""
        finding.step = self.step if self.step is not None else 0
        finding.epoch = self.training.epoch(frame)
        finding.rank = self.host.rank
        finding.frame = finding.frame or frame

    def _wanted(self, armed: ArmedFilter, finding: Finding) -> bool:
        if armed.condition is None:
            return True
        try:
            return armed.condition.evaluate(hit_values(finding, armed.condition.names))
        except Exception as error:  # whatever a user's condition may raise
            said = isinstance(error, ConditionFailed)
            message = str(error) if said else f"The condition could not be evaluated: {error}"
            self.host.notice(message, armed.id)
            return False
