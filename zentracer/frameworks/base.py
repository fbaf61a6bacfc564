"""What a deep-learning framework must offer to be debugged.

RUNS IN the training process.
"""

from __future__ import annotations

import abc
import types
from dataclasses import dataclass, field
from typing import Any, Mapping, Protocol

from zentracer.control.hit_condition import HitCondition, compile_hit_condition
from zentracer.progress import Progress
from zentracer.wire.messages import (
    Advice,
    BreakpointHit,
    BreakpointStatus,
    Eager,
    Modules,
    ModulesQuery,
    Step,
)


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


@dataclass(frozen=True)
class ArmedFunction:
    """One breakpoint by name that is switched on."""

    id: int
    kind: str
    """module, backward, op or step"""
    name: str
    """A glob, or a step's number."""
    condition: Condition | None = None
    hits: HitCondition = field(default_factory=lambda: compile_hit_condition(None))


@dataclass(frozen=True)
class ArmedData:
    """One data breakpoint that is switched on."""

    id: int
    data_id: str
    condition: Condition | None = None
    hits: HitCondition = field(default_factory=lambda: compile_hit_condition(None))


class Host(Protocol):
    """What the runtime offers to a framework."""

    rank: int | None
    options: Mapping[str, Any]

    def stop(
        self,
        hit: BreakpointHit,
        frame: types.FrameType,
        lasti: int | None = None,
        tensors: Mapping[str, Any] | None = None,
    ) -> None:
        """Report ``hit`` and hold the calling thread on the current line of ``frame``.

        Args:
            hit: what was found.
            frame: one of the calling thread's frames.
            lasti: the instruction to mark, where it is not the frame's current one.
            tensors: what the scope "Tensors" shows; not kept beyond the stop. ``module`` among
                them is what the scope "Module" shows.
        """

    def settled(self, status: BreakpointStatus) -> None:
        """Tell the user that a breakpoint has become verified, or can no longer be hit."""

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
    def break_at(self, functions: tuple[ArmedFunction, ...]) -> list[BreakpointStatus]:
        """Stop at exactly these modules, operations and steps; returns what became of each."""

    @abc.abstractmethod
    def break_on(self, data: tuple[ArmedData, ...]) -> list[BreakpointStatus]:
        """Stop when exactly these tensors change; returns what became of each."""

    @abc.abstractmethod
    def disarm(self) -> None:
        """Remove every hook."""

    @abc.abstractmethod
    def modules(self, query: ModulesQuery) -> Modules:
        """Name the modules of the live models, on any thread and while the program runs."""

    @abc.abstractmethod
    def progress(self, frame: types.FrameType | None) -> Progress:
        """Say where training is, as far as it is known; ``frame`` is where the program stands."""

    @abc.abstractmethod
    def parameters(self, name: str) -> list[Any]:
        """Return the parameters and buffers of the live models with this qualified name."""

    @abc.abstractmethod
    def modules_named(self, pattern: str) -> list[tuple[str, Any]]:
        """Return the live modules whose qualified name fits the glob, with their names."""

    def run_eagerly(self, *, eager: bool) -> Eager:
        """Run compiled code eagerly from its next call on, or compiled again; on any thread."""
        return Eager(eager=eager)

    @abc.abstractmethod
    def marked_step(self, number: int | None) -> None:
        """The program says that a step is complete: ``number``, or one more than the last."""

    @abc.abstractmethod
    def logged(self, name: str, value: Any) -> None:
        """The program says a value: a number, or a tensor of one element."""
