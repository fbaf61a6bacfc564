"""Where the armed state touches torch, and how each touch is undone.

RUNS IN the training process. Each hook says why it is needed; ``Hooks.remove`` leaves no trace.
"""

from __future__ import annotations

import functools
import threading
import weakref
from typing import TYPE_CHECKING, Any, Callable

import torch
from torch.autograd.variable import Variable
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from zentracer.frameworks.pytorch.backward import run_backward
from zentracer.frameworks.pytorch.compiled import (
    call_scripted,
    stay_out_of_graphs,
    watch_dynamo,
    when_dynamo_is_there,
)
from zentracer.frameworks.pytorch.mode import only_watchers
from zentracer.frameworks.pytorch.replace import Replacements
from zentracer.frameworks.pytorch.timed import timed_backward
from zentracer.frameworks.pytorch.update import Updates

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.watch import Watch

_PLAIN_TYPES = (torch.Tensor, torch.nn.Parameter, type(None))


class Hooks:
    """All hooks of one armed state: around steps always, around torch calls where they count."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._around_steps = Replacements()
        self._around_calls: Replacements | None = None
        self._handles: list[Any] = []
        self._cancel_dynamo: Callable[[], None] = lambda: None

    def add(self) -> None:
        """Install what tells of backward passes and updates."""
        self._watch_backward()
        self._watch_updates()
        self._watch_gradient_scaler()

    def add_calls(self) -> None:
        """Install what modes need, which see each torch call."""
        if self._around_calls is not None:
            return
        self._around_calls = Replacements()
        self._watch_threads(self._around_calls)
        self._keep_fast_paths(self._around_calls)
        self._watch_scripted(self._around_calls)
        self._watch_compiled(self._around_calls)

    def remove(self) -> None:
        """Take every hook out, unless somebody has replaced it since."""
        self.remove_calls()
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._around_steps.remove()

    def remove_calls(self) -> None:
        """Take out what only modes need."""
        self._cancel_dynamo()
        self._cancel_dynamo = lambda: None
        if self._around_calls is not None:
            self._around_calls.remove()
            self._around_calls = None

    def _watch_backward(self) -> None:
        """Every backward pass of Python goes through this one attribute."""
        self._around_steps.put(
            Variable, "_execution_engine", lambda engine: _Engine(engine, self._watch)
        )

    def _watch_updates(self) -> None:
        updates = Updates(self._watch)
        self._handles += [
            register_optimizer_step_pre_hook(updates.before),
            register_optimizer_step_post_hook(updates.after),
        ]

    def _watch_threads(self, calls: Replacements) -> None:
        """Modes belong to a thread: a new thread has to enter ours when it starts."""
        watch = self._watch

        def make(original: Callable[[threading.Thread], None]) -> Callable[..., None]:
            @functools.wraps(original)
            def _bootstrap_inner(thread: threading.Thread) -> None:
                if watch.sees_calls and not getattr(thread, "is_pydev_daemon_thread", False):
                    watch.enter_thread()
                try:
                    original(thread)
                finally:
                    watch.leave_thread()

            return _bootstrap_inner

        calls.put(threading.Thread, "_bootstrap_inner", make)

    def _watch_gradient_scaler(self) -> None:
        """With a scaler, overflowing gradients are expected: it skips the step."""
        from torch.amp.grad_scaler import GradScaler

        watch = self._watch

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(original)
            def scale(scaler: Any, outputs: Any) -> Any:
                watch.scaler = weakref.ref(scaler) if scaler.is_enabled() else None
                watch.overflowed = False
                result = original(scaler, outputs)
                if watch.scaler is not None and watch.is_armed:
                    watch.steps.scaled(outputs, result)
                return result

            return scale

        self._around_steps.put(GradScaler, "scale", make)

    def _keep_fast_paths(self, calls: Replacements) -> None:
        """``nn.MultiheadAttention`` leaves its fused path when it sees any mode.

        That would change results in evaluation, so our mode does not count there.
        """

        def make(original: Callable[..., bool]) -> Callable[..., bool]:
            @functools.wraps(original)
            def has_torch_function(relevant_args: Any) -> bool:
                if torch.compiler.is_dynamo_compiling() or not only_watchers():
                    return original(relevant_args)
                return any(type(x) not in _PLAIN_TYPES and _overrides(x) for x in relevant_args)

            return has_torch_function

        calls.put(torch.overrides, "has_torch_function", make)

    def _watch_scripted(self, calls: Replacements) -> None:
        """TorchScript runs without torch calls from Python; its result is checked at the call."""
        for cls in (torch._C.ScriptFunction, torch._C.ScriptMethod):
            calls.put(cls, "__call__", lambda original: call_scripted(self._watch, original))

    def _watch_compiled(self, calls: Replacements) -> None:
        """Compiled code is entered without our mode: dynamo would trace it."""

        def wrap(dynamo: Any) -> None:
            calls.put(
                dynamo,
                "_maybe_set_eval_frame",
                lambda original: watch_dynamo(self._watch, original),
            )
            try:
                stay_out_of_graphs()
            except Exception as error:  # an inside of torch's; without it all is slower, no more
                self._watch.report_failure("stay out of compiled graphs", error)

        self._cancel_dynamo = when_dynamo_is_there(wrap)


class _Engine:
    """Stands in for the autograd engine; everything but backward is the engine's own."""

    def __init__(self, engine: Any, watch: Watch) -> None:
        self._engine = engine
        self._watch = watch

    def run_backward(self, roots: Any, *args: Any, **kwargs: Any) -> Any:
        """Run backward, watched."""
        run = run_backward if self._watch.meter is None else timed_backward
        training = self._watch.training
        if not training.detectors:
            return run(self._watch, self._engine, roots, args, kwargs)
        return training.backward(run, self._engine, roots, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def _overrides(x: Any) -> bool:
    method = getattr(type(x), "__torch_function__", None)
    return method is not None and method is not torch._C._disabled_torch_function_impl
