"""``zentracer.saturated``: activations whose outputs are pinned to their limits.

RUNS IN the training process. At its limits a sigmoid, tanh or softmax has no slope: nothing before
it learns any more. Only hidden activations are a finding. An output that is sure of itself, a gate
and one sharp attention head are what training aims at.
"""

from __future__ import annotations

import types
import weakref
from dataclasses import dataclass
from typing import Any, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from zentracer.frameworks.pytorch.finite import PLAIN
from zentracer.frameworks.pytorch.plans import readable
from zentracer.frameworks.pytorch.report import Finding
from zentracer.frameworks.pytorch.training.activations import SAMPLE, ActivationDetector, Call
from zentracer.frameworks.pytorch.training.detector import Handler
from zentracer.frameworks.pytorch.training.events import Backward
from zentracer.frameworks.pytorch.training.producers import (
    Use,
    base_of,
    key_of,
    layer_before,
    uses_of,
)
from zentracer.frameworks.pytorch.training.remedies import for_saturated
from zentracer.wire.filters import SATURATED

TOLERANCE = 1e-3
"""How near to a limit counts as pinned: the slope of tanh is below 0.002, of sigmoid below 0.001
there. (SageMaker Debugger's SaturatedActivation takes inputs beyond 9.5 and 17, where float32 has
no slope left at all.)"""
ONE_HOT = 1e-6
"""The same for the largest of a softmax. Much nearer: an attention head or a gate that is merely
sharp still learns, its slope is gone when 1 - p is about the resolution of float32."""
SHARE = 0.9
"""Share of pinned elements (softmax: rows) that is told."""
STEPS = 3
"""Steps in a row."""
ROWS = 32
"""Rows (samples, or samples times positions) that they hold at least."""
_MIN_CLASSES = 4

_SIGMOIDS = frozenset(
    (torch.sigmoid, torch.sigmoid_, Tensor.sigmoid, Tensor.sigmoid_, torch.special.expit)
)
_TANHS = frozenset((torch.tanh, torch.tanh_, Tensor.tanh, Tensor.tanh_))
_SOFTMAXES = frozenset((F.softmax, torch.softmax, Tensor.softmax, torch.special.softmax))
_OTHERS = frozenset((F.hardtanh, F.hardtanh_, F.hardsigmoid, F.softsign))


@dataclass
class _State:
    """What is known of one activation."""

    step: int = -1
    pinned_so_far: bool = True
    streak: int = 0
    rows: int = 0
    share: float = 0.0
    is_suspicious: bool = False
    key: tuple[str, int] | None = None
    """Node of the last look, whose use is found out in backward."""
    producer: weakref.ref[Tensor] | None = None
    """Weight of the layer before."""
    use: str | None = None
    """``hidden``, ``gate`` or ``output``; None if it is not known yet."""


class Saturated(ActivationDetector[_State]):
    """Stops at an activation that has been pinned for several steps."""

    filter = SATURATED

    def ops(self) -> Mapping[Any, Handler]:
        """Return the activations that have limits."""
        return dict.fromkeys((*_SIGMOIDS, *_TANHS, *_SOFTMAXES, *_OTHERS), self._look)

    @staticmethod
    def glance(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> bool:
        """Tell whether a call is an activation in a forward pass that learns."""
        if type(out) not in PLAIN or not out.requires_grad or out.grad_fn is None:
            return False
        return out.dim() >= 2 and (func is not F.hardtanh or _limits(args, kwargs)[0] < 0)

    def _look(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any,
        frame: types.FrameType,
    ) -> None:  # fmt: skip
        call = self.call_of(readable(func.__name__), out, frame)
        if call is None or not call.out.numel():
            return
        self.ask(call)
        if not self.adaptive:
            return
        state = self.state_of(call, _State)
        if state is not None and state.use in (None, "hidden"):
            self._judge(call, state, func, args, kwargs)

    def _judge(
        self, call: Call, state: _State, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self._begin(state)
        axis = _axis(args, kwargs) if func in _SOFTMAXES else None
        x = call.out
        if axis is not None and (x.shape[axis] < _MIN_CLASSES or not -x.dim() <= axis < x.dim()):
            return
        if state.streak < STEPS and x.numel() > SAMPLE and not self.training.watch.defers(x):
            x = _sample(x, axis)
        pinned = _pinned(func, x, args, kwargs, axis)
        share = pinned.mean(dtype=torch.float32)
        rows = pinned.numel() if axis is not None else x.shape[0] * x.numel() // call.out.numel()
        rows = max(rows, x.numel() // x.shape[-1]) if axis is None else rows

        def then(numbers: list[float]) -> None:
            # Later, on an accelerator: by then the call is history, and must not be kept.
            self._seen(state, numbers[0], rows)

        self.training.readout.read(share.reshape(1), then)
        if state.is_suspicious:
            self._conclude(call, state, axis is not None)

    def _begin(self, state: _State) -> None:
        """Close the step before."""
        if state.step == self.step:
            return
        if state.step >= 0:
            state.streak = state.streak + 1 if state.pinned_so_far else 0
            if not state.streak:
                state.rows = 0
        state.step, state.pinned_so_far = self.step, True

    def _seen(self, state: _State, share: float, rows: int) -> None:
        state.is_suspicious = share >= SHARE
        if not state.is_suspicious:
            state.pinned_so_far = False
            return
        state.share = share
        state.rows += rows
        self.suspect()

    def _conclude(self, call: Call, state: _State, is_softmax: bool) -> None:
        if state.use is None:
            layer = layer_before(call.node)
            if layer is None and not is_softmax:
                state.use = "output"  # of something else than a layer: a squashed constant, a loss
                return
            state.producer = layer.weight if layer is not None else None
            state.key = key_of(call.node)
        elif state.streak >= STEPS and state.pinned_so_far and state.rows >= ROWS:
            self._tell(call, state, is_softmax=is_softmax)

    # -- what it is used for -----------------------------------------------------------------------

    def backward_starts(self, run: Backward) -> None:
        """Find out what becomes of suspicious values: the graph knows now."""
        super().backward_starts(run)
        open_ones = {
            state.key: state
            for _, state in list(self._places.values())
            if state is not None and state.key is not None and state.use is None
        }
        if not open_ones:
            return
        for key, use in uses_of(run.roots, set(open_ones)).items():
            state = open_ones[key]
            state.key = None
            state.use = self._word(use, state, run)

    def _word(self, use: Use, state: _State, run: Backward) -> str:
        if use.is_gate:
            return "gate"
        if use.consumer is None:
            return "output"
        producer = state.producer() if state.producer is not None else None
        if producer is None:
            return "hidden"
        # What one model gives to another is an output: an image to a judge, an action to a critic.
        ours = self.training.names.of(producer, run.frame)
        theirs = self.training.names.of(use.consumer, run.frame)
        if ours is None or theirs is None:
            return "hidden"
        return "hidden" if ours.root() is theirs.root() else "output"

    def _tell(self, call: Call, state: _State, *, is_softmax: bool) -> None:
        name = self.name_of(call)
        place = call.place()
        what = "rows are one-hot" if is_softmax else "elements are pinned to the limits"
        near = ONE_HOT if is_softmax else TOLERANCE
        finding = Finding(
            op=call.op,
            phase="forward",
            tensor=call.out,
            nan=0,
            inf=0,
            source=place,
            origin=place,
            subject=f"output of {name or call.op}",
            module=name,
            filter=SATURATED,
            headline=f"Saturated {call.op} in {name or call.op}",
            numbers=f"{state.share:.1%} of its {what} (within {near:g}), "
            f"{state.streak} steps in a row; {_slope(call)}",
            note=self.late_note(call.out),
        )
        for_saturated(
            self.training, finding, layer_before(call.node), call.user,
            op=call.op, is_softmax=is_softmax,
        )  # fmt: skip
        self.stop_for(call, finding, ("saturated", id(state)))


def _pinned(
    func: Any, x: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any], axis: int | None
) -> Tensor:
    """Return for each element (softmax: each row) whether it is at a limit: ``bool[...]``."""
    if axis is not None:
        return x.amax(dim=axis) > 1 - ONE_HOT
    if func in _TANHS or func is F.softsign:
        return x.abs() > 1 - TOLERANCE
    low, high = (0.0, 1.0) if func not in (F.hardtanh, F.hardtanh_) else _limits(args, kwargs)
    middle, half = (low + high) / 2, (high - low) / 2
    return (x - middle).abs() > half - TOLERANCE * (high - low)


def _limits(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[float, float]:
    """Return the limits of a hardtanh."""
    low = args[1] if len(args) > 1 else kwargs.get("min_val", -1.0)
    high = args[2] if len(args) > 2 else kwargs.get("max_val", 1.0)
    return float(low), float(high)


def _axis(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    axis = args[1] if len(args) > 1 else kwargs.get("dim")
    return axis if type(axis) is int else -1


def _sample(x: Tensor, axis: int | None) -> Tensor:
    """Return the first rows of a large activation, whole along ``axis``."""
    keep = axis % x.dim() if axis is not None else -1
    for d in range(x.dim()):
        if d != keep and x.numel() > SAMPLE:
            x = x.narrow(d, 0, max(1, x.shape[d] * SAMPLE // x.numel()))
    return x


def _slope(call: Call) -> str:
    """Return the mean slope, by which the gradient shrinks on its way through."""
    x = call.out.float()
    base = base_of(call.node)
    if base == "Tanh":
        return f"mean slope {float((1 - x * x).mean()):.2g}"
    if base == "Sigmoid":
        return f"mean slope {float((x * (1 - x)).mean()):.2g}, at most 0.25"
    if base == "Softmax":
        return f"mean slope {float((x * (1 - x)).mean()):.2g}"
    return "no slope there"
