"""Lines that matter later: where optimisers are made, modules put in place, parameters frozen.

RUNS IN the training process while ``zentracer.stalled`` is armed. Nothing is kept alive: objects
are held weakly, of a line only the code and the position in it are kept.
"""

from __future__ import annotations

import functools
import itertools
import sys
import types
import weakref
from dataclasses import dataclass, field
from typing import Any, Callable, Optional

import torch
from torch import Tensor, nn
from torch.nn.modules.module import (
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)

from zentracer.control.source import Place, place_of
from zentracer.frameworks.pytorch.frames import user_frame, user_frames
from zentracer.frameworks.pytorch.replace import Replacements
from zentracer.frameworks.pytorch.report import brief
from zentracer.frameworks.pytorch.unseen import retrace, untrace

_CALLERS = 6
"""Frames outwards that tell one run of a line from another."""

Line = tuple[types.CodeType, int, int]
"""Code, position in it, line number."""


@dataclass(frozen=True)
class Noted:
    """When and where something was done."""

    order: int
    lines: tuple[Line, ...]
    """The user's lines, innermost first."""

    @property
    def place(self) -> Optional[Place]:
        """The innermost line."""
        return place_of(*self.lines[0][:2]) if self.lines else None

    @property
    def outside(self) -> Optional[Place]:
        """The line outside the constructors that were running."""
        for code, lasti, _ in self.lines:
            if code.co_name != "__init__":
                return place_of(code, lasti)
        return self.place


@dataclass
class Frozen:
    """A parameter whose ``requires_grad`` was switched off."""

    parameter: weakref.ref[Tensor]
    first: Noted
    at_step: int
    again: Optional[Noted] = None
    """When it was switched off although it was off already, with steps taken in between."""
    again_at_step: int = 0
    times: int = 1
    """How often it was switched off, with steps in between, and never on."""


@dataclass
class _Registered:
    owner: weakref.ref[nn.Module]
    names: dict[str, Noted] = field(default_factory=lambda: dict[str, Noted]())


class Records:
    """One for each armed state."""

    def __init__(self, step: Callable[[], int], failed: Callable[[str, Exception], None]) -> None:
        self._step = step
        self._failed = failed
        self._order = itertools.count()
        self._made: dict[int, tuple[weakref.ref[Any], Noted]] = {}
        self._registered: dict[int, _Registered] = {}
        self._frozen: dict[int, Frozen] = {}
        self._replaced = Replacements()
        self._handles: list[Any] = []
        self.changes = 0
        """Counts what may make a difference to who learns."""
        self.has_again = False
        """Whether anything was frozen again."""

    def add(self) -> None:
        """Begin to note."""
        self._replaced.put(torch.optim.Optimizer, "__init__", self._around_init)
        self._replaced.put(Tensor, "requires_grad_", self._around_requires_grad)
        self._handles = [
            register_module_module_registration_hook(self._registering),
            register_module_parameter_registration_hook(self._registering),
        ]

    def remove(self) -> None:
        """Leave no trace."""
        self._replaced.remove()
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self._made.clear()
        self._registered.clear()
        self._frozen.clear()

    def optimizers(self) -> list[Any]:
        """Return the live optimisers that were made meanwhile."""
        return [found for ref, _ in list(self._made.values()) if (found := ref()) is not None]

    def made(self, optimizer: Any) -> Optional[Noted]:
        """Return where ``optimizer`` was made; None if that was before."""
        entry = self._made.get(id(optimizer))
        return entry[1] if entry is not None and entry[0]() is optimizer else None

    def registered(self, owner: nn.Module, name: str) -> Optional[Noted]:
        """Return where the module or parameter ``owner.<name>`` was put in place."""
        entry = self._registered.get(id(owner))
        return entry.names.get(name) if entry is not None and entry.owner() is owner else None

    def frozen(self, parameter: Tensor) -> Optional[Frozen]:
        """Return when ``parameter`` was switched off; None if it was not, or is on again."""
        entry = self._frozen.get(id(parameter))
        if entry is None or entry.parameter() is not parameter or parameter.requires_grad:
            return None
        return entry

    # -- inside --------------------------------------------------------------------------------

    def _around_init(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def __init__(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            self._safely("note an optimizer", self._note_optimizer, optimizer, sys._getframe(1))

        return __init__

    def _around_requires_grad(self, original: Callable[..., Tensor]) -> Callable[..., Tensor]:
        @functools.wraps(original)
        def requires_grad_(tensor: Tensor, requires_grad: bool = True) -> Tensor:
            was = requires_grad or tensor.requires_grad
            result = original(tensor, requires_grad)
            if not requires_grad and tensor.is_leaf:
                self._safely(
                    "note a frozen parameter", self._note_frozen, tensor, was, sys._getframe(1)
                )
            return result

        return requires_grad_

    def _registering(self, owner: nn.Module, name: str, value: Any) -> None:
        self._safely("note a module", self._note_registered, owner, name, sys._getframe(1))

    def _safely(self, what: str, note: Callable[..., None], *args: Any) -> None:
        trace = untrace()
        try:
            note(*args)
        except Exception as error:  # ours to report, never the training's to die from
            self._failed(f"{what} ({brief(error)})", error)
        finally:
            if trace is not None:
                retrace(trace)

    def _note_optimizer(self, optimizer: Any, frame: types.FrameType) -> None:
        identity, made = id(optimizer), self._made
        gone = weakref.ref(optimizer, lambda _: made.pop(identity, None))
        lines = self._lines(frame)
        inner = [line for line in lines if line[0].co_name != "__init__"]
        made[identity] = (gone, Noted(next(self._order), tuple(inner or lines)))
        self.changes += 1

    def _note_registered(self, owner: nn.Module, name: str, frame: types.FrameType) -> None:
        self.changes += 1
        entry = self._registered.get(id(owner))
        if entry is None or entry.owner() is not owner:
            identity, registered = id(owner), self._registered
            gone = weakref.ref(owner, lambda _: registered.pop(identity, None))
            entry = registered[identity] = _Registered(gone)
        entry.names[name] = Noted(next(self._order), self._innermost(frame))

    def _note_frozen(self, tensor: Tensor, was: bool, frame: types.FrameType) -> None:
        step, entry = self._step(), self._frozen.get(id(tensor))
        if entry is None or entry.parameter() is not tensor or was:
            identity, frozen = id(tensor), self._frozen
            gone = weakref.ref(tensor, lambda _: frozen.pop(identity, None))
            frozen[identity] = Frozen(gone, Noted(next(self._order), self._lines(frame)), step)
        elif step > max(entry.at_step, entry.again_at_step):
            entry.again = Noted(next(self._order), self._lines(frame))
            entry.again_at_step = step
            entry.times += 1
            self.has_again = True

    def _lines(self, frame: types.FrameType) -> tuple[Line, ...]:
        users = user_frames(frame, _CALLERS)
        return tuple((user.f_code, user.f_lasti, user.f_lineno) for user in users)

    def _innermost(self, frame: types.FrameType) -> tuple[Line, ...]:
        """Return the nearest line of the user's, and that outside the constructors around it."""
        lines: list[Line] = []
        user = user_frame(frame)
        while user is not None:
            lines.append((user.f_code, user.f_lasti, user.f_lineno))
            if user.f_code.co_name != "__init__" or len(lines) >= _CALLERS:
                break
            user = user_frame(user.f_back)
        return tuple(lines)
