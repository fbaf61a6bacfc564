"""What breakpoints on modules, operations and steps have in common.

RUNS IN the training process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, ClassVar, Iterable, NamedTuple

from zentracer.control.condition import STATISTICS, existing
from zentracer.frameworks.base import ArmedFilter, ArmedFunction
from zentracer.frameworks.pytorch.breaks.moment import Moment
from zentracer.frameworks.pytorch.report import Finding
from zentracer.frameworks.pytorch.training.detector import Detector
from zentracer.wire.filters import FUNCTION
from zentracer.wire.messages import BreakpointStatus

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.hub import Training

_MAX_NUMBERS = 6


class Asking(NamedTuple):
    """A breakpoint that names what is met."""

    armed: ArmedFunction
    note: str | None = None
    """What is to be said if it stops there."""


class NameBreaks(Detector):
    """All armed breakpoints of one kind."""

    filter = FUNCTION
    kind: ClassVar[str]

    def __init__(self, training: Training, functions: tuple[ArmedFunction, ...]) -> None:
        super().__init__(training, ())
        self.functions: tuple[ArmedFunction, ...] = ()
        self._settled: set[int] = set()
        """Breakpoints that have been told to be verified."""
        self.take(functions)

    def take(self, functions: tuple[ArmedFunction, ...]) -> None:
        """Serve exactly these; one that is as it was keeps its hit count."""
        known = {one.id: one for one in self.functions}
        self.functions = tuple(_kept(known.get(one.id), one) for one in functions)
        self._settled &= {one.id for one in functions}
        # What the hub says on breakpoints, it says on these.
        self.armed = tuple(ArmedFilter(one.id, FUNCTION.id) for one in functions)

    def statuses_of(self, functions: Iterable[ArmedFunction]) -> list[BreakpointStatus]:
        """Return what becomes of each of these."""
        return [self.status_of(armed) for armed in functions]

    def status_of(self, armed: ArmedFunction) -> BreakpointStatus:
        """Return what becomes of a breakpoint: verified, or waiting with the reason."""
        self._settled.add(armed.id)
        return BreakpointStatus(id=armed.id, verified=True)

    def verified(self, armed: ArmedFunction) -> None:
        """Tell, once, that what a breakpoint names is there."""
        if armed.id not in self._settled:
            self._settled.add(armed.id)
            self.training.watch.host.settled(BreakpointStatus(id=armed.id, verified=True))

    def ask(self, asking: Iterable[Asking], moment: Moment) -> None:
        """Stop once, for those whose condition holds and whose hit condition says it is the turn.

        Args:
            asking: breakpoints, each with what is to be said if it stops.
            moment: what they are asked about.
        """
        hit = self.hit(asking, moment)
        if hit is not None:
            self.training.stop(*hit, moment.frame)

    def hit(
        self, asking: Iterable[Asking], moment: Moment
    ) -> tuple[tuple[ArmedFilter, ...], Finding] | None:
        """Return what to stop for, if there is something."""
        stopping = [(armed, note) for armed, note in asking if self._holds(armed, moment)]
        if not stopping:
            return None
        conditions = [armed.condition for armed, _ in stopping if armed.condition is not None]
        numbers = numbers_of(conditions[0], moment.value_of) if conditions else None
        notes = dict.fromkeys(note for _, note in stopping if note)
        filters = tuple(ArmedFilter(armed.id, FUNCTION.id) for armed, _ in stopping)
        return filters, moment.finding(numbers, " ".join(notes) or None)

    def _holds(self, armed: ArmedFunction, moment: Moment) -> bool:
        condition = armed.condition
        if condition is not None:
            wanted = ArmedFilter(armed.id, FUNCTION.id, condition)
            if not self.training.holds(wanted, existing(condition, moment.value_of)):
                return False
        return self.training.is_turn(armed.id, armed.hits)


def _kept(known: ArmedFunction | None, new: ArmedFunction) -> ArmedFunction:
    if known is None or (known.kind, known.name) != (new.kind, new.name):
        return new
    same = getattr(known.condition, "text", None) == getattr(new.condition, "text", None)
    return known if same and known.hits.text == new.hits.text else new


def numbers_of(condition: Any, value_of: Callable[[str], Any]) -> str | None:
    """Return the statistics that a condition names, for the sentence of its stop."""
    if condition is None:
        return None
    values = [
        f"{name} {_brief(value)}"
        for name in STATISTICS
        if name in condition.names and (value := value_of(name)) is not None
    ]
    said = f"'{condition.text}' holds"
    return ", ".join([said, *values[:_MAX_NUMBERS]])


def _brief(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
