"""Breakpoints in backward on the autograd engine's own threads, which are not Python's.

RUNS IN the training process. The engine computes the gradients of each accelerator on a thread of
its own. Custom functions, and with them the backward hooks of modules, come through Python code
of torch's, which asks the debugger to see the thread. Nothing is replaced from Python 3.12 on,
where it sees every thread, nor before a line breakpoint is set.
"""

from __future__ import annotations

import functools
import threading
from typing import Any, Callable

from torch.autograd.function import BackwardCFunction

from zentracer.control.pydevd import guard, lines, native_threads
from zentracer.fork_locks import renewed
from zentracer.frameworks.pytorch.replace import Replacements

_NAMES = ("apply", "apply_boxed")


class EngineThreads:
    """What is replaced while there are line breakpoints."""

    def __init__(self) -> None:
        self._replaced = Replacements()
        self._lock = renewed(self, "_lock", threading.Lock)
        self._is_on = False

    def watch(self) -> None:
        """Follow the line breakpoints from now on."""
        if guard.is_there() and not guard.uses_monitoring():
            lines.on_change(self._follow)
            self._follow()

    def _follow(self) -> None:
        with self._lock:
            wanted = lines.are_there_any()
            if wanted == self._is_on:
                return
            self._is_on = wanted
            if not wanted:
                self._replaced.remove()
                return
            for name in _NAMES:
                if hasattr(BackwardCFunction, name):
                    self._replaced.put(BackwardCFunction, name, _traced)


def _traced(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def apply(node: Any, *args: Any) -> Any:
        native_threads.ensure_traced()
        return original(node, *args)

    return apply
