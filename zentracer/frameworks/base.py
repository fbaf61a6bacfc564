"""What a deep-learning framework must offer to be debugged.

RUNS IN the training process.
"""

from __future__ import annotations

import abc
import types
from dataclasses import dataclass
from typing import Any, Mapping, Protocol

from zentracer.wire.messages import Advice, BreakpointHit, Modules, ModulesQuery, Step


class Condition(Protocol):
    """A compiled breakpoint condition."""

    @property
    def names(self) -> frozenset[str]:
        """The names of the condition language it uses."""
        ...

    def evaluate(self, values: Mapping[str, Any]) -> bool:
        """Return whether the condition holds for ``values``."""
        ...


@dataclass(frozen=True)
class ArmedFilter:
    """One tensor exception that is switched on."""

    id: int
    filter: str
    condition: Condition | None = None


class Host(Protocol):
    """What the runtime offers to a framework."""

    rank: int | None
    options: Mapping[str, Any]

    def stop(self, hit: BreakpointHit, frame: types.FrameType, lasti: int | None = None) -> None:
        """Report ``hit`` and hold the calling thread on the current line of ``frame``."""

    def advise(self, advice: Advice) -> None:
        """List something that was found; the program goes on."""

    def notice(self, message: str, breakpoint_id: int | None = None) -> None:
        """Tell the user, once, that something of ours stepped aside."""

    def stepped(self, step: Step) -> None:
        """Tell the user that a step is complete; of several within 0.1 s the last one is shown."""


class Framework(abc.ABC):
    """One framework. All methods are final in their meaning: nothing armed, nothing paid."""

    name: str

    @abc.abstractmethod
    def arm(self, filters: tuple[ArmedFilter, ...], *, precise: bool) -> None:
        """Watch for exactly these exceptions; an empty tuple removes every hook."""

    @abc.abstractmethod
    def disarm(self) -> None:
        """Remove every hook."""

    @abc.abstractmethod
    def modules(self, query: ModulesQuery) -> Modules:
        """Name the modules of the live models, on any thread and while the program runs."""

    @abc.abstractmethod
    def marked_step(self, number: int | None) -> None:
        """The program says that a step is complete: ``number``, or one more than the last."""

    @abc.abstractmethod
    def logged(self, name: str, value: Any) -> None:
        """The program says a value: a number, or a tensor of one element."""
