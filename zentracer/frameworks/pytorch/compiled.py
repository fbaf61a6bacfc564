"""Calls into compiled regions: torch.compile and TorchScript.

RUNS IN the training process. The lines inside do not run one by one, so the call is the line to
stop at, and its result is what is checked.
"""

from __future__ import annotations

import functools
import sys
import types
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable

import zentracer
from zentracer import import_hook
from zentracer.frameworks.pytorch.finite import outputs_of
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.meter import clock
from zentracer.frameworks.pytorch.mode import Watcher, install, installed, uninstall
from zentracer.frameworks.pytorch.plans import CHECK, Plan
from zentracer.frameworks.pytorch.trail import Site, mark_nodes, sequence_number

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.watch import Watch

_EVAL_FRAME = "torch._dynamo.eval_frame"
_on_dynamo: list[Callable[[Any], None]] = []


@dataclass
class _Call:
    """A call into compiled code that is under way."""

    watcher: Watcher
    before: int
    wrapper: types.FrameType | None = None
    """The frame that belongs to torch.compile, while it runs."""


def call_scripted(watch: Watch, original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the call of TorchScript functions and methods."""

    @functools.wraps(original)
    def scripted_call(scripted: Any, *args: Any, **kwargs: Any) -> Any:
        watcher = _awake(watch)
        if watcher is None:
            return original(scripted, *args, **kwargs)
        start = clock()
        call = _enter(watcher)
        called = clock()
        try:
            out = original(scripted, *args, **kwargs)
        finally:
            returned = clock()
            install(watcher)
        _leave(watch, call, _plan(scripted), out, args, kwargs, sys._getframe(1))
        meter = watch.meter
        if meter is not None:
            meter.add(clock() - returned + called - start)
        return out

    return scripted_call


def watch_dynamo(watch: Watch, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Wrap the function that torch.compile's wrappers call before and after a compiled call.

    Functions that were compiled before the watch was armed come through here too. Dynamo would
    trace our mode, so it is off the stack in between.
    """

    @functools.wraps(original)
    def maybe_set_eval_frame(callback: Any) -> Any:
        start = clock()
        _enter_or_leave(watch, sys._getframe(1), callback)
        meter = watch.meter
        if meter is not None:
            meter.add(clock() - start)
        return original(callback)

    return maybe_set_eval_frame


@functools.lru_cache(maxsize=1)
def stay_out_of_graphs() -> None:
    """Let dynamo leave our hooks as they are; it would compile what is called inside a region."""
    add = getattr(sys.modules.get("torch._dynamo.trace_rules"), "add", None)
    if add is not None:
        add(zentracer.__name__)


def when_dynamo_is_there(action: Callable[[Any], None]) -> Callable[[], None]:
    """Call ``action`` with dynamo's module, once there is one; returns what cancels that."""
    module = sys.modules.get(_EVAL_FRAME)
    if hasattr(module, "_TorchDynamoContext"):
        action(module)
        return lambda: None
    _on_dynamo.append(action)
    _await_dynamo()
    return lambda: _on_dynamo.remove(action) if action in _on_dynamo else None


@functools.lru_cache(maxsize=1)
def _await_dynamo() -> None:
    def arrived() -> None:
        while _on_dynamo:
            _on_dynamo.pop()(sys.modules[_EVAL_FRAME])

    import_hook.when_imported({_EVAL_FRAME: arrived})


def _awake(watch: Watch) -> Watcher | None:
    watcher = installed() if watch.sees_calls else None
    return None if watcher is None or watcher.asleep else watcher


def _enter_or_leave(watch: Watch, wrapper: types.FrameType, callback: Any) -> None:
    calls: list[_Call] = watch.local.__dict__.setdefault("compiled_calls", [])
    if calls and calls[-1].wrapper is wrapper:
        _leave_wrapper(watch, calls.pop(), wrapper)
    elif callable(callback) and "callback" in wrapper.f_code.co_freevars:
        if not watch.sees_calls:
            watch.remove_retired()
        watcher = _awake(watch)
        if watcher is not None:
            calls.append(_enter(watcher, wrapper))


def _enter(watcher: Watcher, wrapper: types.FrameType | None = None) -> _Call:
    uninstall()
    watcher.watch.training.enters_compiled()
    return _Call(watcher, sequence_number(), wrapper)


def _leave_wrapper(watch: Watch, call: _Call, wrapper: types.FrameType) -> None:
    install(call.watcher)
    names = wrapper.f_locals
    if "result" in names:  # no exception
        plan = Plan(CHECK, _name(names.get("fn")), in_place=False, compiled=True)
        args, kwargs = names.get("args", ()), names.get("kwargs", {})
        _leave(watch, call, plan, names["result"], args, kwargs, wrapper)


def _leave(
    watch: Watch, call: _Call, plan: Plan, out: Any, args: tuple[Any, ...],
    kwargs: dict[str, Any], frame: types.FrameType,
) -> None:  # fmt: skip
    """Note which nodes the call made, and check what it returned."""
    watcher, after = call.watcher, sequence_number()
    user = user_frame(frame)
    if user is not None:
        site = Site(user.f_code, user.f_lasti, plan.name, compiled=True)
        if watcher is watch.main:
            watcher.trail.note(call.before, after, site)
        else:
            watch.marked = True
            mark_nodes(outputs_of(out), site)
    watcher.seen = after
    if any([watcher.suspicious(x) for x in outputs_of(out)]):
        watch.inspect(watcher, plan, None, args, kwargs, out, False, frame)


def _plan(scripted: Any) -> Plan:
    return Plan(CHECK, _name(scripted), in_place=False, compiled=True)


def _name(region: Any) -> str:
    """Return what the user calls the region: the name of its function."""
    name = getattr(region, "name", None) or getattr(region, "__name__", None) or "compiled code"
    return str(name).split(".")[-1]
