"""Data breakpoints: stops where the content of a tensor has changed, at the line that wrote.

RUNS IN the training process. Writes that torch is asked for are seen as they happen: each call of a
function that writes is matched against the memory that is watched. Whatever else writes (NumPy, C
code, compiled regions) is found at the next safe point: the start or the end of a backward pass or
an update, a call of a module or of torch. Where torch counts the writes into a tensor, others are
looked for in its sample, at the starts and the ends only.
"""

from __future__ import annotations

import threading
import types
from typing import TYPE_CHECKING, Any, Callable

from torch import nn

from zentracer.control.condition import existing
from zentracer.fork_locks import renewed
from zentracer.frameworks.base import ArmedData, ArmedFilter
from zentracer.frameworks.pytorch.data import registry, statuses
from zentracer.frameworks.pytorch.data.assignments import Assignments
from zentracer.frameworks.pytorch.data.calls import Calls
from zentracer.frameworks.pytorch.data.found import Found
from zentracer.frameworks.pytorch.data.pace import Pace
from zentracer.frameworks.pytorch.data.report import Moment, finding_for
from zentracer.frameworks.pytorch.data.stops import Stops
from zentracer.frameworks.pytorch.data.target import Target
from zentracer.frameworks.pytorch.data.watched import Watched
from zentracer.frameworks.pytorch.data.writer import Site, Writer, site_of
from zentracer.frameworks.pytorch.data.writers import exposes, is_internal, op_name
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.training.asked import is_lasting
from zentracer.frameworks.pytorch.training.detector import Detector, Handler, Looker
from zentracer.frameworks.pytorch.training.events import Backward, Update
from zentracer.frameworks.pytorch.unseen import is_capturing, is_tracing, unseen
from zentracer.wire.filters import DATA
from zentracer.wire.messages import BreakpointStatus

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.hub import Training


class DataBreaks(Detector):
    """All data breakpoints."""

    filter = DATA

    def __init__(self, training: Training, data: tuple[ArmedData, ...]) -> None:
        super().__init__(training, ())
        self._lock = renewed(self, "_lock", threading.RLock)
        self._watched = Watched()
        self._armed: dict[str, tuple[ArmedData, ...]] = {}
        self._calls = Calls(self._watched)
        self._assignments = Assignments(self._on_assignment)
        self._pace, self._pace_of_steps, self._pace_of_reading = Pace(), Pace(), Pace()
        """Of torch calls and modules; of starts and ends; of reading large contents as a whole."""
        self._last: Site | None = None
        self._started = 0
        """The number of the look at the start of this backward pass or update."""
        self._stops = Stops(self._watched, self._at_stop)
        self._runs_compiled = False
        """Whether code runs in which no write is seen."""
        self._sees_all = False
        """Whether writes have to be looked for at every torch call."""
        self.take(data)

    def take(self, data: tuple[ArmedData, ...]) -> None:
        """Serve exactly these; one that is as it was keeps its hit count."""
        known = {one.id: one for armed in self._armed.values() for one in armed}
        by_target: dict[str, list[ArmedData]] = {}
        targets: list[Target] = []
        for one in data:
            target = registry.find(one.data_id)
            if target is not None and not target.source.is_gone:
                targets.append(target)
                by_target.setdefault(one.data_id, []).append(statuses.kept(known.get(one.id), one))
        self._armed = {data_id: tuple(armed) for data_id, armed in by_target.items()}
        with self._lock, unseen():
            self._watched.set(targets, precise=self.training.watch.precise)
            if self._runs_compiled:
                self._watched.expose_all()
        self._sees_all = self._watched.has_uncounted
        self._assignments.set(self._watched.has_attributes)
        self.armed = tuple(ArmedFilter(one.id, DATA.id) for one in data)

    def close(self) -> None:
        """Forget everything."""
        self._stops.close()
        self._assignments.set(False)
        with self._lock:
            self._watched.set((), precise=False)
        self._armed = {}
        self._last = None

    def status_of(self, armed: ArmedData) -> BreakpointStatus:
        """Return what becomes of a breakpoint."""
        return statuses.of(armed)

    # -- torch calls -------------------------------------------------------------------------------

    def handler_for(self, function: Any) -> Handler | None:
        """Return who is told of a function: all that write, or hand out memory."""
        if not is_lasting(function):
            return None
        if exposes(function):
            return self._exposed
        if self._calls.writes(function):
            return self._wrote
        sees_all = self._sees_all or self._watched.places.are_assigned_unseen
        return self._passed if sees_all and not is_internal(function) else None

    def out_handler(self) -> Handler | None:
        """Return who is told of calls that write into ``out=``."""
        return self._wrote

    def glance(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> bool:
        """Tell whether a call may have written into what is watched."""
        if is_tracing():
            return False
        if self._calls.touched(func, args, kwargs):
            return True
        return (self._sees_all and self._pace.may()) or self._watched.places.have_changed()

    def _wrote(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any,
        frame: types.FrameType,
    ) -> None:  # fmt: skip
        user = user_frame(frame)
        if user is None:
            return  # it is found at the next safe point
        with self._lock:
            touched = self._calls.touched(func, args, kwargs)
            found = self._watched.check(touched, site_of(user))
        phase = "backward" if self.training.in_backward else "forward"
        self._tell(found, Writer(op_name(func), phase, user, frame))
        self._passed(func, args, kwargs, out, frame)

    def _exposed(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any,
        frame: types.FrameType,
    ) -> None:  # fmt: skip
        with self._lock:
            for target in self._calls.touched(func, args, kwargs):
                self._watched.expose(target)
        self._see_all_if_needed()

    def _passed(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any,
        frame: types.FrameType,
    ) -> None:  # fmt: skip
        self._safe_point(op_name(func), "forward", user_frame(frame), always=False)

    def copes_with_compiled(self) -> bool:
        """What compiled code writes is found by its content at the next safe point."""
        self._runs_compiled = True
        self._watched.expose_all()
        self._see_all_if_needed()
        return True

    # -- modules, passes and steps -----------------------------------------------------------------

    def looker(self, module: Any) -> Looker | None:
        """Return who looks at a call of a module: it is a safe point."""
        return self._module_called if self._sees_all else None

    def _module_called(
        self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any,
        frame: types.FrameType,
    ) -> None:  # fmt: skip
        self._safe_point(f"{type(module).__name__}()", "forward", user_frame(frame), always=False)

    def backward_starts(self, run: Backward) -> None:
        """What was written unseen until here is no gradient."""
        self._safe_point("backward", "loss", run.frame, always=True)

    def backward_ended(self, run: Backward) -> None:
        """Gradients were added up."""
        self._step_ended("backward", "backward", run.frame, counts=True)

    def update_starts(self, update: Update) -> None:
        """What was written unseen until here is no update."""
        self._safe_point(_step_of(update), "update", update.frame, always=True)

    def update_ended(self, update: Update) -> None:
        """Parameters and the state of the optimiser were written."""
        self._step_ended(_step_of(update), "update", update.frame, counts=False)

    def step_marked(self, frame: types.FrameType | None) -> None:
        """The program says that a step is complete."""
        self._safe_point("zentracer.step", "update", frame, always=True)

    def _step_ended(
        self, op: str, phase: str, frame: types.FrameType | None, *, counts: bool
    ) -> None:
        """Tell what has been written within ``op``, or past it; ``counts`` if it is torch's own."""
        if frame is None:
            return
        started, site = self._started, site_of(frame)
        found = self._look(site, at_end=True)
        last, self._last = self._last, site
        own = [one for one in found if one.is_within(started, counts=counts)]
        self._tell(own, Writer(op, phase, frame))
        others = [one for one in found if not one.is_within(started, counts=counts)]
        self._tell(others, Writer(op, phase, frame, is_known=False, since=last))
        self._end_what_is_gone()

    def _safe_point(
        self, op: str, phase: str, frame: types.FrameType | None, *, always: bool
    ) -> None:
        if frame is None:
            return
        is_due = always or self._watched.places.have_changed()
        if not (is_due or self._stops.found or (self._sees_all and self._pace.may())):
            return
        site = site_of(frame)
        found = self._stops.take() + self._look(site, at_end=always)
        if always:
            self._started = self._watched.look.number
        last, self._last = self._last, site
        self._tell(found, Writer(op, phase, frame, is_known=False, since=last))
        if is_due:
            self._end_what_is_gone()

    def _look(self, site: Site, *, at_end: bool) -> list[Found]:
        """Look for all that has changed; at a start or an end, at those that torch counts, too."""
        pace = self._pace_of_steps if at_end else self._pace
        with self._lock:
            with pace:
                found = self._watched.moved(site, pace.may, glances=at_end)
            if self._watched.has_uncounted:
                with self._pace_of_reading:
                    found += self._watched.read(self._pace_of_reading.may)
        return found

    # -- assignments -------------------------------------------------------------------------------

    def _on_assignment(self, module: nn.Module, name: str, frame: types.FrameType) -> None:
        if self._watched.held_at(module, name):
            self.training.guarded(self, "at an assignment", self._assigned, module, name, frame)

    def _assigned(self, module: nn.Module, name: str, frame: types.FrameType) -> None:
        user = user_frame(frame)
        if user is None:
            return
        with self._lock:
            found = self._watched.check(self._watched.held_at(module, name), site_of(user))
        phase = "backward" if self.training.in_backward else "forward"
        self._tell(found, Writer("assignment", phase, user, frame))

    # -- what is found -----------------------------------------------------------------------------

    def _tell(self, found: list[Found], writer: Writer) -> None:
        """Stop if the condition of a breakpoint holds and it is the turn of its hit condition."""
        if not found:
            self._see_all_if_needed()
            return
        hits: list[Found] = []
        ids: list[int] = []
        for one in found:
            moment = Moment(self.training, one, writer)
            armed = self._armed.get(one.target.data_id, ())
            stops = [a.id for a in armed if self._is_hit(a, one, moment)]
            if stops:
                hits.append(one)
                ids += stops
        if hits:
            finding = finding_for(hits, writer)
            breakpoints = tuple(ArmedFilter(number, DATA.id) for number in ids)
            self.training.stop(breakpoints, finding, writer.frame)
        self._see_all_if_needed()

    def _is_hit(self, armed: ArmedData, found: Found, moment: Moment) -> bool:
        condition = armed.condition
        if condition is not None:
            wanted = ArmedFilter(armed.id, DATA.id, condition)
            if not self.training.holds(wanted, existing(condition, moment.value_of)):
                return False
        return self.training.is_turn(armed.id, armed.hits)

    def _end_what_is_gone(self) -> None:
        gone = self._watched.gone()
        if gone:
            self._watched.drop(gone)
        for target in gone:
            for armed in self._armed.pop(target.data_id, ()):
                status = statuses.ended(armed, target, self.training.watch.step)
                self.training.watch.host.settled(status)

    def _at_stop(self, look: Callable[[], None]) -> None:
        try:
            if is_tracing() or is_capturing():
                return  # what has been written is found at the next safe point
            with self._lock, unseen():
                look()
        except Exception as error:  # ours to report, never the training's to die from
            self.training.watch.report_failure("look at what is watched for changes", error)

    def _see_all_if_needed(self) -> None:
        if self._watched.has_uncounted and not self._sees_all:
            self._sees_all = True
            self.training.ask_again()


def _step_of(update: Update) -> str:
    return f"{type(update.optimizer).__name__}.step"
