"""Tells of the calls of modules, and which line each is called from.

RUNS IN the training process, around ``nn.Module.__call__``. Hooks on the modules themselves would
be pickled and copied with them, and switch fast paths of torch's off; this leaves them untouched.
A module that nobody looks at costs one look into a dictionary.
"""

from __future__ import annotations

import functools
import sys
import types
import weakref
from typing import Any, Callable, Optional

import torch
from torch import nn

from zentracer import tracebacks
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.replace import Replacements
from zentracer.frameworks.pytorch.trail import Site
from zentracer.frameworks.pytorch.unseen import is_tracing

_get_frame = sys._getframe

Entry = Optional["tuple[Any, ...]"]
Before = Callable[[nn.Module, "tuple[Any, ...]", "dict[str, Any]", types.FrameType], None]


class ModuleTap:
    """One per process, while a detector needs it.

    Args:
        lookers_for: who looks at a module; asked at its first call.
        look: calls those of one module, guarded.
        before: looks before each call of a module; None if nobody wants to.
    """

    def __init__(
        self,
        lookers_for: Callable[[nn.Module], tuple[Any, ...]],
        look: Callable[..., None],
        before: Before | None = None,
    ) -> None:
        self.before = before
        self._lookers_for = lookers_for
        self._look = look
        self._entries: dict[int, tuple[weakref.ref[nn.Module], Site | None, Entry]] = {}
        self._replaced = Replacements()
        self._is_added = False

    def add(self) -> None:
        """Begin to tell."""
        import torch.fx  # it keeps the method as it is when it is imported: before ours

        assert torch.fx
        self._is_added = True
        self._replaced.put(nn.Module, "__call__", self._around)

    def remove(self) -> None:
        """Leave no trace."""
        self._is_added = False
        self._replaced.remove()
        self._entries.clear()

    def ask_again(self) -> None:
        """Ask anew who looks at each module: something else is armed."""
        self._entries.clear()

    def ask_about(self, module: nn.Module) -> None:
        """Ask anew who looks at ``module``."""
        self._entries.pop(id(module), None)

    def site_of(self, module: nn.Module) -> Site | None:
        """Return the user's line that called ``module``; None if it was not called yet."""
        entry = self._entries.get(id(module))
        return entry[1] if entry is not None and entry[0]() is module else None

    def was_called(self, module: nn.Module) -> bool:
        """Tell whether ``module`` has been called since it is watched."""
        entry = self._entries.get(id(module))
        return entry is not None and entry[0]() is module

    def look_no_more(self, module: nn.Module, detector: Any) -> None:
        """Stop telling ``detector`` of the calls of ``module``."""
        entry = self._entries.get(id(module))
        if entry is not None and entry[0]() is module and entry[2]:
            rest = tuple(pair for pair in entry[2] if pair[0] is not detector)
            self._entries[id(module)] = (*entry[:2], rest or None)

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        tap, entries, meet, look = self, self._entries, self._meet, self._look

        # Dynamo traces nothing of ours. A call that is all of a thread has no caller.
        def __call__(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
            caller = None if torch.compiler.is_dynamo_compiling() else _get_frame().f_back
            if caller is not None and tap.before is not None:
                tap.before(self, args, kwargs, caller)
            out = original(self, *args, **kwargs)  # the same line of it as in torch's own method
            if caller is not None:
                entry = entries.get(id(self))
                if entry is None:
                    entry = meet(self, caller)
                if entry is not None and entry[2]:
                    look(entry[2], self, args, kwargs, out, caller)
            return out

        return as_torchs(functools.wraps(original)(__call__), original)

    def _meet(
        self, module: nn.Module, frame: types.FrameType
    ) -> tuple[weakref.ref[nn.Module], Site | None, Entry] | None:
        if not self._is_added or is_tracing():  # a compiled module keeps the method it was made of
            return None
        user = user_frame(frame)
        site = Site(user.f_code, user.f_lasti, type(module).__name__) if user is not None else None
        identity, entries = id(module), self._entries
        gone = weakref.ref(module, lambda _: entries.pop(identity, None))
        entry = entries[identity] = (gone, site, self._lookers_for(module) or None)
        return entry


def as_torchs(ours: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    """Let the code of ``ours`` pass for torch's own method.

    Dynamo then traces through it, as it does through the original; from a file of ours it would
    break the graph. And tracebacks show what they show without us.
    """
    code = original.__code__
    ours.__code__ = ours.__code__.replace(
        co_filename=code.co_filename, co_name=code.co_name, co_firstlineno=code.co_firstlineno
    )
    tracebacks.hide(ours.__code__)
    return ours
