"""The detector behind ``zentracer.stalled``.

RUNS IN the training process. It looks at everything in the first steps and after something has
changed, later at four steps out of sixteen.
"""

from __future__ import annotations

import types
import weakref
from typing import Any, Optional

import torch
from torch import Tensor, nn

from zentracer.control.flow import Cut
from zentracer.frameworks.base import ArmedFilter
from zentracer.frameworks.pytorch.report import Finding
from zentracer.frameworks.pytorch.training.advice.places import assignment_of
from zentracer.frameworks.pytorch.training.builder import rate_of
from zentracer.frameworks.pytorch.training.candidate import Candidate
from zentracer.frameworks.pytorch.training.detector import Detector, Looker
from zentracer.frameworks.pytorch.training.events import Backward, Update
from zentracer.frameworks.pytorch.training.graph_cut import tell_cut
from zentracer.frameworks.pytorch.training.ratios import Change
from zentracer.frameworks.pytorch.training.stalled import starved
from zentracer.frameworks.pytorch.training.stalled.calls import never_called, parents_below
from zentracer.frameworks.pytorch.training.stalled.cutting import cut_place, reset_before_step
from zentracer.frameworks.pytorch.training.stalled.frozen import Refrozen, frozen_place
from zentracer.frameworks.pytorch.training.stalled.records import Records
from zentracer.frameworks.pytorch.training.stalled.starved import Silent, Starved
from zentracer.frameworks.pytorch.training.stalled.suggestions import for_cut, for_rate
from zentracer.frameworks.pytorch.training.stalled.telling import (
    finding,
    made_at,
    rows,
    stuck,
)
from zentracer.frameworks.pytorch.training.stalled.tiny import WINDOW, Small, Tiny
from zentracer.frameworks.pytorch.training.stalled.twins import has_learning_twin
from zentracer.frameworks.pytorch.training.stalled.unowned import Unowned
from zentracer.wire.filters import STALLED
from zentracer.wire.messages import Suggestion

_FIRST = 8
_ROUND, _IN_ROUND = 16, 4
_LATE = "The values were read from the device while it went on: the program stands a step later."


class Stalled(Detector):
    """Stops when a trainable parameter does not learn."""

    filter = STALLED
    wants_leaves = True

    def __init__(self, training: Any, armed: tuple[ArmedFilter, ...]) -> None:
        super().__init__(training, armed)
        watch = training.watch
        self._records = Records(lambda: watch.step or 0, watch.report_failure)
        self._records.add()
        self._unowned = Unowned(training, self._records, self._report)
        self._starved = Starved(training, self._ask_about)
        self._refrozen = Refrozen(training, self._records)
        self._tiny = Tiny(training)
        self._changes = -1
        self._since = 0
        """Training steps since something changed."""
        self._changed: list[tuple[weakref.ref[Any], list[Change]]] = []

    def close(self) -> None:
        """Leave no trace."""
        self._records.remove()
        for part in (self._starved, self._refrozen, self._tiny):
            part.forget()

    # -- events ----------------------------------------------------------------------------------

    def looker(self, module: nn.Module) -> Looker | None:
        """Have the calls of modules told that get no gradient."""
        return self._saw if self._starved.looks(module) else None

    def _saw(
        self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any,
        frame: types.FrameType,
    ) -> None:  # fmt: skip
        self._starved.saw(module, out, frame)

    def backward_starts(self, run: Backward) -> None:
        """Note where backward starts."""
        self._starved.backward_starts(run)

    def backward_ended(self, run: Backward) -> None:
        """Note what got gradients."""
        self._starved.backward_ended(run)
        if self._looks:
            self._unowned.backward_ended(run)

    def update_starts(self, update: Update) -> None:
        """See who has no gradient, and where the parameters are."""
        self._starved.update_starts(update)
        if self.adaptive:
            self._tiny.starts(update)
        if self.custom:
            self.training.ratios.starts(update)

    def update_ended(self, update: Update) -> None:
        """See who did not move."""
        self._starved.update_ended(update)
        if self.adaptive:
            self._tell_small(update)
        if update.is_step:
            self._step_ended(update)
        if self.custom and update.frame is not None:
            optimizer = weakref.ref(update.optimizer)
            self.training.ratios.ended(
                update, lambda changes: self._changed.append((optimizer, changes))
            )
            changed, self._changed = self._changed, []
            for ref, changes in changed:
                self._ask(ref(), changes, update.frame)

    # -- inside ----------------------------------------------------------------------------------

    @property
    def _looks(self) -> bool:
        return self._since < _FIRST or self._since % _ROUND < _IN_ROUND

    def _step_ended(self, update: Update) -> None:
        if self._records.changes != self._changes:
            self._changes, self._since = self._records.changes, 0
        if self._looks:
            self._unowned.stepped(update)
        else:
            self._unowned.skip()
        self._since += 1
        if update.frame is not None:
            self._tell_starved(update, update.frame)
            self._tell_refrozen(update, update.frame)

    def _ask_about(self, module: nn.Module) -> None:
        if self.training.modules is not None:
            self.training.modules.ask_about(module)

    def _report(self, found: Finding, frame: types.FrameType) -> None:
        if self.adaptive and self.training.is_fresh((found.headline, found.origin.location)):
            self.training.stop(self.adaptive, found, frame)

    def _tell_starved(self, update: Update, frame: types.FrameType) -> None:
        parents: dict[int, Any] = {}
        for entry in self._starved.never():
            self._tell_never_called(entry, frame, parents)
        unchanged, self._starved.unchanged = self._starved.unchanged, []
        by_cause: dict[Any, tuple[Silent, list[Tensor]]] = {}
        for entry, parameters in unchanged:
            key = (entry.cut.code_path, entry.cut.line, entry.zero) if entry.cut else entry.reset
            by_cause.setdefault(key, (entry, []))[1].extend(parameters)
        for entry, parameters in by_cause.values():
            if entry.cut is not None:
                self._tell_cut(entry.cut, entry, parameters, update, frame)
            else:
                self._tell_reset(parameters, update, frame)

    def _tell_cut(
        self, cut: Cut, entry: Silent, parameters: list[Tensor], update: Update,
        frame: types.FrameType,
    ) -> None:  # fmt: skip
        silent = stuck(self.training, parameters, frame)
        if cut.is_explicit and has_learning_twin(self.training, parameters, update, frame):
            return
        what = "gradients of zero" if entry.zero else "no gradient"
        place = cut_place(cut)
        of = f" of {cut.last}" if cut.last else ""
        into = f" (as {cut.term})" if cut.term else ""
        numbers = (
            f"{what} in {starved.STEPS} steps and more, although {silent.module} was called: "
            f"{cut.op}{of} cuts it off the loss{into}"
        )
        found = finding(
            silent, frame, numbers, place, op=cut.op, phase="backward",
            suggestions=for_cut(cut, place), evidence=rows(silent),
        )  # fmt: skip
        self._report(found, frame)
        if not cut.is_explicit and self.training.watch.host.options.get("advice", True):
            tell_cut(self, cut, frame, silent.names)

    def _tell_reset(self, parameters: list[Tensor], update: Update, frame: types.FrameType) -> None:
        place = reset_before_step(frame)
        silent = stuck(self.training, parameters, frame)
        optimizer = type(update.optimizer).__name__
        found = finding(
            silent, frame,
            f"backward leads to them, but their gradients are gone when {optimizer} steps, "
            f"{starved.STEPS} times in a row",
            place, op="zero_grad", suggestions=(
                Suggestion(
                    title="Reset the gradients before backward, or after the step",
                    why="zero_grad() between backward() and step() leaves nothing to step with.",
                ),
            ), evidence=rows(silent),
        )  # fmt: skip
        self._report(found, frame)

    def _tell_never_called(
        self, entry: Silent, frame: types.FrameType, parents: dict[int, Any]
    ) -> None:
        module, tap = entry.module(), self.training.modules
        parameters = [p for ref in entry.parameters if (p := ref()) is not None]
        named = self.training.names.of(parameters[0], frame) if parameters else None
        root = named.root() if named is not None else None
        if module is None or root is None or tap is None:
            return
        if id(root) not in parents:
            parents[id(root)] = parents_below(root)
        caller = never_called(module, parents[id(root)], tap, self._starved.is_silent)
        if caller is None:
            return
        owner, name = caller
        silent = stuck(self.training, parameters, frame)
        found = finding(
            silent, frame,
            f"no gradient in {starved.NEVER} steps: {type(owner).__name__}.{name} is never called",
            assignment_of(owner, name), op=type(module).__name__, phase="forward",
            suggestions=(
                Suggestion(
                    title=f"Call self.{name} in {type(owner).__name__}.forward, or remove it",
                    why="It is built and given to the optimizer, but no forward pass uses it; look "
                    "for another module that is called in its place.",
                ),
            ), evidence=rows(silent),
        )  # fmt: skip
        self._report(found, frame)

    def _tell_refrozen(self, update: Update, frame: types.FrameType) -> None:
        again = self._refrozen.found(update)
        if again is None:
            return
        parameters, noted, times = again
        silent = stuck(self.training, parameters, frame)
        found = finding(
            silent, frame,
            f"frozen {times} times, with steps in between, and never switched on again; an "
            "optimizer owns them",
            frozen_place(noted), op="requires_grad_", suggestions=(
                Suggestion(
                    title="Switch requires_grad on where they are to learn",
                    why="requires_grad_(False) stays until requires_grad_(True) is called: here it "
                    "was off already.",
                ),
            ), evidence=rows(silent),
        )  # fmt: skip
        self._report(found, frame)

    def _tell_small(self, update: Update) -> None:
        small, frame = self._tiny.ended(update), update.frame
        if frame is None:
            return
        if small is not None:
            self._tell_tiny(small, update, frame)
        steps = self._tiny.zero_rate(update)
        if steps is not None:
            self._tell_zero_rate(steps, update, frame)

    def _tell_tiny(self, small: Small, update: Update, frame: types.FrameType) -> None:
        silent = stuck(self.training, small.parameters, frame)
        first = small.parameters[0]
        dtype = str(first.dtype).replace("torch.", "")
        eps = torch.finfo(first.dtype).eps
        optimizer = type(update.optimizer).__name__
        rate = f"{small.rate:.3g}" if small.rate is not None else "unknown"
        place, cause = for_rate(self._records, update, frame, first.dtype)
        late = self.training.watch.defers(first)
        found = finding(
            silent, frame,
            f"{len(small.parameters)} of {small.total} parameters of {optimizer} hold the same "
            f"bits after {WINDOW} steps (at most {small.share:.0%} of the elements with a gradient "
            f"moved): updates at lr {rate} are below the resolution of {dtype} (eps {eps:.3g})",
            place, op=f"{optimizer}.step", suggestions=cause, evidence=rows(silent),
            note=_LATE if late else None, values={"ratio": 0.0},
        )  # fmt: skip
        self._report(found, frame)

    def _tell_zero_rate(self, steps: int, update: Update, frame: types.FrameType) -> None:
        learning = [p for p in update.parameters if p.requires_grad]
        silent = stuck(self.training, learning, frame)
        optimizer = type(update.optimizer).__name__
        place, cause = for_rate(self._records, update, frame, None)
        found = finding(
            silent, frame,
            f"the learning rate of {optimizer} has been 0 for {steps} steps",
            place, op=f"{optimizer}.step", suggestions=cause, evidence=rows(silent),
            values={"ratio": 0.0},
        )  # fmt: skip
        self._report(found, frame)

    # -- the user's own threshold ----------------------------------------------------------------

    def _ask(self, optimizer: Optional[Any], changes: list[Change], frame: types.FrameType) -> None:
        """Ask each condition of each parameter; one stop a step for each condition."""
        for armed in self.custom:
            held: list[tuple[Candidate, Change]] = []
            for change in changes:
                parameter = change.parameter()
                if parameter is None or not parameter.requires_grad:
                    continue
                if change.ratio is None and armed.condition and "ratio" in armed.condition.names:
                    continue  # of size 0: there is nothing to compare with
                candidate = Candidate(
                    self.training, parameter, parameter.detach(), "update", frame,
                    ratio=change.ratio, op=f"{type(optimizer).__name__}.step",
                )  # fmt: skip
                if self.training.holds(armed, candidate.value_of):
                    held.append((candidate, change))
            if held:
                self._stop_for(armed, held, optimizer, frame)

    def _stop_for(
        self, armed: ArmedFilter, held: list[tuple[Candidate, Change]], optimizer: Optional[Any],
        frame: types.FrameType,
    ) -> None:  # fmt: skip
        first, change = held[0]
        silent = stuck(self.training, [first.parameter], frame)
        rate = rate_of(optimizer, first.parameter)
        at = f" at lr {rate:.3g}" if rate is not None else ""
        built = made_at(self._records, optimizer, frame)
        found = finding(
            silent, frame,
            f"update norm {change.update:.3g}, parameter norm {change.norm:.3g}{at}",
            built, op=first.op or "", phase="update",
            evidence=tuple(
                f"{candidate.name}  ratio {c.ratio if c.ratio is not None else 0:.3g}"
                for candidate, c in held[:8]
            ),
            values={"ratio": change.ratio},
        )  # fmt: skip
        found.headline = f"{silent.subject} is hardly updated"
        condition = getattr(armed.condition, "text", "")
        found.numbers = f"{condition}: {found.numbers}"
        self.training.stop((armed,), found, frame)
