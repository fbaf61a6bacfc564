"""PyTorch: tensor exceptions for programs that import torch.

RUNS IN the training process, loaded once the user has imported torch.
"""

from __future__ import annotations

import threading
import types
from typing import Any

import torch

from zentracer.control.pydevd import stack
from zentracer.control.source import place_of
from zentracer.fork_locks import renewed
from zentracer.frameworks.base import ArmedData, ArmedFilter, ArmedFunction, Framework, Host
from zentracer.frameworks.pytorch import live_names
from zentracer.frameworks.pytorch.compiled_lines import CompiledCode
from zentracer.frameworks.pytorch.engine_threads import EngineThreads
from zentracer.frameworks.pytorch.frames import forget_known_code
from zentracer.frameworks.pytorch.hooks import Hooks
from zentracer.frameworks.pytorch.main_thread import on_main_thread
from zentracer.frameworks.pytorch.module_list import ModuleList
from zentracer.frameworks.pytorch.wanted import Wanted
from zentracer.frameworks.pytorch.watch import Watch
from zentracer.progress import Progress
from zentracer.wire.messages import BreakpointStatus, Eager, Location, Modules, ModulesQuery


def create(host: Host) -> Framework:
    """Return the framework for ``host``."""
    framework = PyTorch(host)
    framework.compiled.watch()
    EngineThreads().watch()
    stack.explain_with(framework.forward_of)
    return framework


class PyTorch(Framework):
    """Arms and disarms the watch. May be called on any thread."""

    name = "pytorch"

    def __init__(self, host: Host) -> None:
        self._host = host
        self._watch: Watch | None = None
        self._hooks: Hooks | None = None
        self._modules = ModuleList()
        self.compiled = CompiledCode()
        self._wanted = Wanted()
        self._lock = renewed(self, "_lock", threading.RLock)

    def arm(self, filters: tuple[ArmedFilter, ...], *, precise: bool) -> None:
        """Watch for exactly these exceptions; an empty tuple removes every hook."""
        with self._lock:
            self._wanted = self._wanted._replace(filters=filters, precise=precise)
            self._apply()

    def break_at(self, functions: tuple[ArmedFunction, ...]) -> list[BreakpointStatus]:
        """Stop at exactly these modules, operations and steps; returns what became of each."""
        with self._lock:
            self._wanted = self._wanted._replace(functions=functions)
            self._apply()
            return self._watch.training.breaks.statuses(functions) if self._watch else []

    def break_on(self, data: tuple[ArmedData, ...]) -> list[BreakpointStatus]:
        """Stop when exactly these tensors change; returns what became of each."""
        with self._lock:
            self._wanted = self._wanted._replace(data=data)
            self._apply()
            return self._watch.training.breaks.data_statuses(data) if self._watch else []

    def _apply(self) -> None:
        if self._wanted.is_nothing:
            self._disarm()
            return
        forget_known_code()
        if self._watch is None or self._hooks is None:
            self._watch = Watch(self._host, (), precise=self._wanted.precise)
            self._watch.on_idle = self._remove_hooks
            self._hooks = Hooks(self._watch)
            self._hooks.add()
        self._watch.open(self._wanted)
        if self._watch.sees_calls:
            self._hooks.add_calls()
            on_main_thread(self._enter)
        else:
            self._watch.let_go(self._remove_hooks)

    def disarm(self) -> None:
        """Remove every hook."""
        with self._lock:
            self._wanted = Wanted()
            self._disarm()

    def run_eagerly(self, *, eager: bool) -> Eager:
        """Leave the code of torch.compile from its next call on, or go back to it."""
        return self.compiled.run_eagerly(eager=eager)

    def modules(self, query: ModulesQuery) -> Modules:
        """Name the modules of the live models, on any thread and while the program runs."""
        return self._modules.answer(query)

    def progress(self, frame: types.FrameType | None) -> Progress:
        """Say where training is, as far as it is known; ``frame`` is where the program stands."""
        watch = self._watch
        if watch is None:
            return Progress()
        return Progress(watch.step, watch.training.epoch(frame), watch.steps.loss)

    def parameters(self, name: str) -> list[Any]:
        """Return the parameters and buffers of the live models with this qualified name."""
        return live_names.tensors(name)

    def modules_named(self, pattern: str) -> list[tuple[str, Any]]:
        """Return the live modules whose qualified name fits the glob, with their names."""
        return live_names.modules(pattern)

    def marked_step(self, number: int | None) -> None:
        """The program says that a step is complete: ``number``, or one more than the last."""
        watch = self._watch
        if watch is not None and watch.is_armed:
            watch.marked_step(number)

    def logged(self, name: str, value: Any) -> None:
        """The program says a value: a number, or a tensor of one element."""
        watch = self._watch
        if watch is not None and watch.is_armed:
            watch.training.log(name, value)

    def forward_of(self, frame: types.FrameType) -> Location | None:
        """Return the forward line of the autograd node whose Python backward runs in ``frame``."""
        code, watch = frame.f_code, self._watch
        if watch is None or code.co_name != "backward" or not code.co_argcount:
            return None
        node = frame.f_locals.get(code.co_varnames[0])
        if not isinstance(node, torch.autograd.function.BackwardCFunction):
            return None
        site = watch.site_of_node(node)
        return place_of(site.code, site.lasti, site.op).location if site is not None else None

    def _disarm(self) -> None:
        if self._watch is not None:
            self._watch.close(self._remove_hooks)

    def _remove_hooks(self) -> None:
        """Leave no trace: no thread has our mode any more."""
        if self._watch is None or self._hooks is None or self._watch.sees_calls:
            return
        if self._watch.is_armed:
            self._hooks.remove_calls()
            return
        self._hooks.remove()
        self._watch = self._hooks = None

    def _enter(self) -> None:
        watch = self._watch
        if watch is not None and watch.sees_calls and not watch.is_in_thread():
            watch.enter_thread()
