"""Watches every torch call made from Python on one thread.

RUNS IN the training process, inside each torch call of the user while a tensor exception is
armed. It calls the function exactly as asked and returns its result untouched.
"""

from __future__ import annotations

import collections
import sys
import threading
import types
from typing import TYPE_CHECKING, Any, Tuple

import torch
from torch.overrides import TorchFunctionMode

from zentracer.frameworks.pytorch.finite import (
    FLOATING,
    PLAIN,
    is_bad,
    looks_finite,
    outputs_of,
    readable_tensor,
    tensors_in,
)
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.plans import CHECK, IGNORE, LARGE, Plan, known_plans, plan_for
from zentracer.frameworks.pytorch.trail import Site, Trail, mark_nodes, sequence_number
from zentracer.frameworks.pytorch.unseen import is_intercepted, is_tracing, retrace, unseen, untrace

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.watch import Watch

_get_frame = sys._getframe
_plans = known_plans
_ident = threading.get_ident
_APPLY_CODE = torch.autograd.Function.apply.__func__.__code__  # type: ignore[attr-defined]
_MAX_SITES = 100_000
_WIDE_RANGE = frozenset({torch.float32, torch.float64, torch.bfloat16})
_MAX_WRITES = 4096
Write = Tuple[int, Tuple[int, ...], Site]
"""Version of a tensor after it was changed in place, its shape, and where that was."""
_VALUELESS = (int, float, str, bool, type(None))


class Watcher(TorchFunctionMode):
    """The mode of one thread. Sits at the bottom of the thread's stack, below the user's modes."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.trail = Trail()
        self.ident = _ident()
        self.asleep = 0
        """Above zero inside library optimisers, whose result is checked as a whole."""
        self.aside = False
        """Off the stack while a library optimiser works."""
        self._sites: dict[tuple[int, int, str], Site] = {}
        self.retired = False
        """Disarmed, but maybe still on the stack: torch puts a mode back after each call."""
        self.writes: collections.deque[Write] = collections.deque(maxlen=_MAX_WRITES)
        """The last changes in place, for an error in backward: whoever wrote has returned then."""
        self.seen = sequence_number()
        """Number of the next autograd node when this watcher last looked."""

    def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        """Run ``func`` and look at what it made."""
        if kwargs is None:
            kwargs = {}
        if self.asleep:
            if self.retired:
                self.watch.remove_retired_soon()
            return func(*args, **kwargs)
        try:
            plan = _plans[func]
        except (KeyError, TypeError):  # not seen before, or without a hash
            plan = plan_for(func)
        kind = plan.kind
        if kind == IGNORE:
            return func(*args, **kwargs)
        before = sequence_number()
        mine = _ident() == self.ident  # not on the threads of the autograd engine
        if mine and before != self.seen and self.watch.main is self:
            self._note_unseen(before, plan, _get_frame(1))
        was_bad = False
        if kind == CHECK and plan.in_place and args and not self._passes_over(plan, args[0]):
            was_bad = self.suspicious(args[0]) and is_bad_tensor(args[0])
            before = sequence_number()
        out = func(*args, **kwargs)
        trace = untrace()
        try:
            bad = self._look(plan, args, kwargs, out, before, mine)
        except Exception as error:  # ours to report, never the training's to die from
            bad = False
            self.watch.report_failure(f"look at the result of {plan.name}", error)
        finally:
            if trace is not None:
                retrace(trace)
        if bad:
            self.watch.inspect(self, plan, func, args, kwargs, out, was_bad, _get_frame(1))
        if mine:
            self.seen = sequence_number()
        return out

    # What is armed changes at any moment, on any thread, and with it the class of a watcher that is
    # inside a call: what its subclasses call of themselves, every watcher has.

    def look(self, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run ``func`` and look at what it made."""
        return Watcher.__torch_function__(self, func, types, args, kwargs)

    def tell(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any,
        frame: types.FrameType,
    ) -> None:  # fmt: skip
        """Hand a call to whoever asked for it. Never raises."""
        if self.asleep:
            if self.retired:
                self.watch.remove_retired_soon()
            return
        training = self.watch.training
        try:
            handlers = training.ops[func]
        except TypeError:  # a callable of the user's without a hash
            return
        if "out" in kwargs:
            handlers = (*handlers, *training.ops.of_out)
        if handlers:
            training.called(handlers, func, args, kwargs, out, frame)

    def is_asked_for(self, func: Any, kwargs: dict[str, Any]) -> bool:
        """Tell whether somebody wants to be told of a call; most of them nobody does."""
        ops = self.watch.training.ops
        try:
            return bool(ops[func] or self.retired or (kwargs and "out" in kwargs and ops.of_out))
        except TypeError:  # a callable of the user's without a hash
            return self.retired

    def _look(
        self, plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any, before: int,
        mine: bool,
    ) -> bool:  # fmt: skip
        """Note the nodes that a call made; return whether its result may hold NaN or Inf."""
        frame = _get_frame(2)
        after = sequence_number()
        if after != before:
            self._note(before, after, plan, out, frame, mine)
        if (plan.writes or (kwargs and kwargs.get("inplace"))) and args:
            self._note_write(args[0], plan, frame)
        if plan.kind != CHECK:
            return False
        if plan.tame and self._passes_over(plan, out) and not self._statistics_tell(plan, args):
            return False  # the next operation that is checked tells, and upstream.py finds this one
        return self._any_suspicious(out, plan, args, kwargs, frame)

    def suspicious(self, x: Any) -> bool:
        """Return whether ``x`` may hold NaN or Inf. Never raises.

        Does not wait for a device either, unless the user asked for ``precise``.
        """
        if type(x) in PLAIN:
            if x.dtype not in FLOATING or not (x.is_cpu or self.watch.precise) or x.is_meta:
                return False
            if not is_intercepted():
                try:
                    return not is_tracing() and not looks_finite(x)
                except RuntimeError:  # functorch wrappers, nested and some sparse tensors
                    return suspicious_slow(x, self.watch.precise)
        return suspicious_slow(x, self.watch.precise)

    def _passes_over(self, plan: Plan, x: Any) -> bool:
        """Tell whether ``x`` is large, hardly overflows, and has a graph to look back through."""
        return (
            plan.tame
            and not is_tracing()  # torch.jit.trace records the very questions
            and type(x) is torch.Tensor
            and x.requires_grad
            and x.dtype in _WIDE_RANGE
            and x.numel() > LARGE
            and x.is_cpu
            and not self.watch.precise
            and not self.watch.defer_cpu
        )

    def _statistics_tell(self, plan: Plan, args: tuple[Any, ...]) -> bool:
        """Tell whether a batch norm's result needs a look: its running mean shows what it read."""
        if plan.name != "batch_norm":
            return False
        return len(args) < 2 or not isinstance(args[1], torch.Tensor) or self.suspicious(args[1])

    def site_of(self, frame: types.FrameType | None, plan: Plan) -> Site | None:
        """Return the user's position from which ``plan`` was called."""
        frame = user_frame(frame)
        if frame is None:
            return None
        key = (id(frame.f_code), frame.f_lasti, plan.name)
        site = self._sites.get(key)  # it keeps its code alive, so the identity is not reused
        if site is None:
            if len(self._sites) >= _MAX_SITES:  # a program that makes code as it runs
                self._sites.clear()
            site = self._sites[key] = Site(frame.f_code, frame.f_lasti, plan.name)
        return site

    def _any_suspicious(
        self, out: Any, plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any],
        frame: types.FrameType,
    ) -> bool:  # fmt: skip
        kind = type(out)
        if kind in _VALUELESS:
            return False
        outs = (out,) if kind is torch.Tensor else outputs_of(out)
        bad = False
        for x in outs:
            if type(x) in PLAIN and self.watch.defers(x):
                if self.watch.suspects and self.site_of(frame, plan) in self.watch.suspects:
                    bad = bad or suspicious_slow(x, may_wait=True)
                    continue
                inputs = tensors_in([args[1:] if plan.in_place else args, kwargs])
                self.watch.deferred.add(x, inputs, self.site_of(frame, plan))
            elif self.suspicious(x):
                bad = True
        return bad

    def _note(
        self, before: int, after: int, plan: Plan, out: Any, frame: types.FrameType, mine: bool
    ) -> None:  # fmt: skip
        site = self.site_of(frame, plan)
        if site is None:
            return
        if mine and self.watch.main is self:
            self.trail.note(before, after, site)
        else:
            self.watch.marked = True
            mark_nodes(outputs_of(out), site)

    def _note_write(self, x: Any, plan: Plan, frame: types.FrameType) -> None:
        """Note which version of ``x`` a call has made, and where."""
        if type(x) not in PLAIN or is_tracing() or x.is_inference():
            return
        site = self.site_of(frame, plan)
        if site is None:
            return
        try:
            self.writes.append((x._version, tuple(x.shape), site))
        except RuntimeError:  # nested and wrapped tensors have no sizes or no version
            return

    def _note_unseen(self, before: int, plan: Plan, frame: types.FrameType) -> None:
        """Nodes were made outside any torch call: a custom Function's own, or a C++ extension's."""
        start, self.seen = self.seen, before
        if before < start:
            return
        outer: types.FrameType | None = frame
        while outer is not None and outer.f_code is not _APPLY_CODE:
            outer = outer.f_back
        name = plan.name
        if outer is not None:
            name, outer = "Function.apply", outer.f_back
        user = user_frame(outer or frame)
        if user is not None:
            self.trail.note(start, before, Site(user.f_code, user.f_lasti, name))


class OpsWatcher(Watcher):
    """The mode of one thread where results need no look: it tells of the calls asked for."""

    def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        """Run ``func`` and hand it to whoever asked for it."""
        if kwargs is None:
            kwargs = {}
        out = func(*args, **kwargs)
        if self.is_asked_for(func, kwargs):
            self.tell(func, args, kwargs, out, _get_frame(1))
        return out


class BothWatcher(OpsWatcher):
    """Looks at results and tells of calls."""

    def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        """Run ``func``, look at what it made, and hand it to whoever asked for it."""
        if kwargs is None:
            kwargs = {}
        out = self.look(func, types, args, kwargs)
        if self.is_asked_for(func, kwargs):
            self.tell(func, args, kwargs, out, _get_frame(1))
        return out


def is_bad_tensor(x: Any) -> bool:
    """Return whether ``x`` holds NaN or Inf; True where that cannot be told."""
    try:
        with unseen():
            return is_bad(x)
    except Exception:  # its values are not ours to read, and it failed the cheap check
        return True


def suspicious_slow(x: Any, may_wait: bool) -> bool:
    """Return whether ``x`` of an unusual type may hold NaN or Inf."""
    if not isinstance(x, torch.Tensor) or is_tracing():
        return False
    try:
        with unseen():
            plain = readable_tensor(x)
            if plain is None or not (plain.is_cpu or may_wait):
                return False
            return not looks_finite(plain)
    except Exception:  # a tensor subclass may raise anything; then its values are not ours to read
        return False


def install(watcher: Watcher) -> None:
    """Put ``watcher`` at the bottom of this thread's stack of modes.

    Only the mode of ``torch.set_default_device`` stays below: it wants to be the very first.
    """
    modes = _others()
    default = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    below = modes[:1] if modes and modes[0] is default else []
    _rebuild([*below, watcher, *modes[len(below) :]])


def uninstall() -> None:
    """Take the watcher off this thread's stack of modes."""
    _rebuild(_others())


def remove_retired() -> list[Watcher]:
    """Take the watchers that are disarmed off this thread's stack, as far as they are on it."""
    modes = _stack()
    retired = [mode for mode in modes if isinstance(mode, Watcher) and mode.retired]
    if retired:
        _rebuild([mode for mode in modes if mode not in retired])
    return retired


def only_watchers() -> bool:
    """Tell whether there are modes on this thread's stack, all of them ours."""
    modes = _stack()
    return bool(modes) and all(isinstance(mode, Watcher) for mode in modes)


def installed() -> Watcher | None:
    """Return the watcher of this thread if it is on the stack right now."""
    for mode in _stack():
        if isinstance(mode, Watcher) and not mode.retired:
            return mode
    return None


def _stack() -> list[Any]:
    length = torch._C._len_torch_function_stack()
    return [torch._C._get_function_stack_at(index) for index in range(length)]


def _others() -> list[Any]:
    return [mode for mode in _stack() if not isinstance(mode, Watcher) or mode.retired]


def _rebuild(modes: list[Any]) -> None:
    while torch._C._len_torch_function_stack():
        torch._C._pop_torch_function_stack()
    for mode in modes:
        torch._C._push_on_torch_function_stack(mode)
