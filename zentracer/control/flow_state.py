"""What a dataflow slice knows of values, and of the operation that cuts them off.

RUNS IN the training process, only when there is something to report.
"""

from __future__ import annotations

import ast
import types
from dataclasses import dataclass
from typing import Any, Callable, Optional


@dataclass(frozen=True)
class Cut:
    """An operation through which no gradient comes back."""

    code_path: str
    node: ast.AST
    """The operation; for ``no_grad``, the ``with`` statement or the decorator."""
    op: str
    """``detach``, ``argmax``, ``>``, ``no_grad`` …"""
    last: Optional[str]
    """The last differentiable variable, as it is written."""
    carriers: tuple[str, ...] = ()
    """The variables that carry it on towards the loss."""
    root: Optional[str] = None
    """What backward starts from, if that is a variable."""

    @property
    def line(self) -> int:
        """The line of the operation."""
        return getattr(self.node, "lineno", 0)

    @property
    def term(self) -> Optional[str]:
        """The variable in which what is cut comes to the loss."""
        others = [name for name in self.carriers if name != self.root]
        return others[-1] if others else (self.carriers[-1] if self.carriers else None)

    @property
    def is_explicit(self) -> bool:
        """Whether the user's own word for it is that no gradient shall pass."""
        return self.op in {"detach", "detach_", "data", "no_grad", "inference_mode"} or (
            self.op == "set_grad_enabled"
        )


@dataclass(frozen=True)
class State:
    """What is known of a value."""

    live: bool = False
    """It depends on the source, and a gradient comes back."""
    cut: Optional[Cut] = None
    """It depends on the source through this cut."""

    def __or__(self, other: State) -> State:
        return State(self.live or other.live, self.cut or other.cut)

    def __bool__(self) -> bool:
        return self.live or self.cut is not None


NOTHING = State()
LIVE = State(live=True)
Resolver = Callable[[ast.expr], Any]
"""Returns the object that a name or a dotted name stands for, None if unknown."""


@dataclass(frozen=True)
class Point:
    """An expression in a function that runs."""

    code: types.CodeType
    node: ast.AST
    resolve: Resolver = lambda _: None
