"""``zentracer.dead``: units of an activation that are zero for every sample.

RUNS IN the training process. A layer that is zero as a whole gets no gradient, and neither does
anything below it: it never recovers by itself.
"""

from __future__ import annotations

import types
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
from zentracer.frameworks.pytorch.training.producers import Layer, layer_before, unit_axis
from zentracer.frameworks.pytorch.training.remedies import for_dead
from zentracer.wire.filters import DEAD

LAYER_STEPS = 3
"""Steps in a row in which a whole layer was zero before it is told; it gets no gradient then."""
LAYER_SAMPLES = 32
"""Rows (samples, or samples times positions) that they hold at least."""
UNIT_STEPS = 20
UNIT_SAMPLES = 1000
"""Steps and rows for which a single unit was zero before it counts as dead."""
UNIT_SHARE = 0.5
"""Share of dead units that is told: ``threshold_layer`` of SageMaker Debugger's DeadRelu, 50 %."""
UNIT_GROWTH = 0.25
"""By so much the share must have grown since the first steps: units that never worked, as a few do
in any wide layer, cost capacity but are no event of this run."""
UNIT_SHARE_AT_ONCE = 0.9
"""Share that is told even if it was so from the beginning."""
_BASE_LOOKS = 5
_MIN_UNITS = 4

_RELUS = frozenset(
    function
    for function in (
        F.relu, F.relu_, torch.relu, torch.relu_, Tensor.relu, Tensor.relu_, F.relu6,
    )
)  # fmt: skip
_ZERO_ENDED = frozenset((F.hardtanh, F.hardtanh_, F.threshold, F.gelu, F.silu))
_CLAMPS = frozenset(
    (
        torch.clamp, torch.clamp_, torch.clamp_min, torch.clamp_min_, Tensor.clamp, Tensor.clamp_,
        Tensor.clamp_min, Tensor.clamp_min_, torch.clip, Tensor.clip,
    )
)  # fmt: skip


@dataclass
class _State:
    """What is known of one activation."""

    axis: int = -1
    is_hidden: bool | None = None
    """Whether a layer feeds it; None until it was suspicious for the first time."""
    base: float = 1.0
    """The smallest share of zero units of the first looks."""
    looks: int = 0
    step: int = -1
    dead_so_far: bool = True
    """Whether nothing but zeros was seen in this step."""
    streak: int = 0
    """Whole steps in a row in which all was zero."""
    rows: int = 0
    alive: Tensor | None = None
    """Units that were not zero in the window."""
    window_steps: int = 0
    window_rows: int = 0
    died: int = 0
    """Units that were zero throughout the window that was completed last."""


class Dead(ActivationDetector[_State]):
    """Stops at the activation of a dead layer, and at one whose units died."""

    filter = DEAD

    def ops(self) -> Mapping[Any, Handler]:
        """Return the activations that are zero for negative inputs."""
        return dict.fromkeys((*_RELUS, *_ZERO_ENDED, *_CLAMPS), self._look)

    @staticmethod
    def glance(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> bool:
        """Tell whether a call is an activation in a forward pass that learns."""
        if type(out) not in PLAIN or not out.requires_grad or out.grad_fn is None:
            return False
        return (
            out.dim() >= 2
            and (func not in _CLAMPS or _is_relu(args, kwargs))
            and (func is not F.hardtanh or _low_of_hardtanh(args, kwargs) == 0)
        )

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
        if state is None:
            return
        if state.axis < 0:
            state.axis = unit_axis(call.out, call.node)
        if state.is_hidden is not False and call.out.shape[state.axis] >= _MIN_UNITS:
            self._judge(call, state)

    def _judge(self, call: Call, state: _State) -> None:
        self._begin(state)
        x, axis = call.out, state.axis
        if state.alive is None and x.numel() > SAMPLE and not self.training.watch.defers(x):
            share = 1 - float(_active(_sample(x, axis), axis).float().mean())
            if share < UNIT_SHARE:
                state.looks += 1
                self._is_alive(state, share)
                return
        active = _active(x, axis)
        rows = x.numel() // active.numel()

        def then(numbers: list[float]) -> None:
            # Later, on an accelerator: by then the call is history, and must not be kept.
            self._seen(state, active, rows, 1 - numbers[0] / active.numel())

        self.training.readout.read(active.sum(dtype=torch.float32).reshape(1), then)
        if state.alive is not None:
            self._conclude(call, state)

    def _begin(self, state: _State) -> None:
        """Close the step before."""
        if state.step == self.step:
            return
        if state.step >= 0:
            state.streak = state.streak + 1 if state.dead_so_far else 0
            if not state.streak:
                state.rows = 0
            if state.alive is not None:
                state.window_steps += 1
        state.step, state.dead_so_far = self.step, True

    def _is_alive(self, state: _State, share: float) -> None:
        if state.looks <= _BASE_LOOKS:
            state.base = min(state.base, share)
        if share < UNIT_SHARE:
            state.dead_so_far, state.alive = False, None

    def _seen(self, state: _State, active: Tensor, rows: int, share: float) -> None:
        state.looks += 1
        self._is_alive(state, share)
        if share < UNIT_SHARE:
            return
        self.suspect()
        state.dead_so_far = state.dead_so_far and share == 1
        state.rows += rows
        if state.alive is None or state.alive.shape != active.shape:
            state.alive, state.window_steps, state.window_rows = active.clone(), 0, 0
        else:
            state.alive |= active
        state.window_rows += rows
        if state.window_steps < UNIT_STEPS or state.window_rows < UNIT_SAMPLES:
            return
        units = active.numel()

        def then(numbers: list[float]) -> None:
            dead = units - int(numbers[0])
            grown = dead >= UNIT_SHARE * units and dead / units - state.base >= UNIT_GROWTH
            if dead < units and (grown or dead >= UNIT_SHARE_AT_ONCE * units):
                state.died = dead

        self.training.readout.read(state.alive.sum(dtype=torch.float32).reshape(1), then)
        state.alive.copy_(active)
        state.window_steps, state.window_rows = 0, rows

    def _conclude(self, call: Call, state: _State) -> None:
        if state.is_hidden is None:
            state.is_hidden = layer_before(call.node) is not None
            if not state.is_hidden:
                state.alive = None
                return
        units = call.out.shape[state.axis]
        enough = state.streak >= LAYER_STEPS and state.rows >= LAYER_SAMPLES
        if state.dead_so_far and enough:
            self._tell(call, state, units, units)
        elif state.died:
            self._tell(call, state, state.died, units)
            state.died = 0

    def _tell(self, call: Call, state: _State, dead: int, units: int) -> None:
        layer = layer_before(call.node)
        if layer is None or _gets_nothing(layer) or _is_pruned(layer, dead, units):
            return
        whole = dead == units
        name = self.name_of(call)
        place = call.place()
        steps = state.streak if whole else UNIT_STEPS
        numbers = (
            f"all {units:,} units are zero for each of {state.rows:,} rows, {steps} steps in a row"
            if whole
            else f"{dead:,} of {units:,} units ({dead / units:.0%}) were zero for every row of "
            f"{steps} steps, {state.base:.0%} of one batch in the first steps"
        )
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
            filter=DEAD,
            headline=f"Dead {'layer' if whole else 'units'} in {name or call.op}",
            numbers=numbers,
            note=self.late_note(call.out),
        )
        for_dead(self.training, finding, layer, call.user, whole=whole)
        self.stop_for(call, finding, ("dead", id(state), whole))


def _active(x: Tensor, axis: int) -> Tensor:
    """Return, for each unit, whether it is not zero for some row: ``bool[units]``."""
    others = [d for d in range(x.dim()) if d != axis]
    return (x != 0).any(dim=others[0]) if len(others) == 1 else _peaks(x, others) != 0


def _peaks(x: Tensor, others: list[int]) -> Tensor:
    return torch.maximum(x.amax(dim=others), -x.amin(dim=others))


def _sample(x: Tensor, axis: int) -> Tensor:
    """Return the first rows of a large activation: all units, a part of the samples."""
    for d in range(x.dim()):
        if d != axis and x.numel() > SAMPLE:
            x = x.narrow(d, 0, max(1, x.shape[d] * SAMPLE // x.numel()))
    return x


def _gets_nothing(layer: Layer) -> bool:
    """Tell whether a layer was given zeros only: an expert that no token was sent to, padding."""
    given = layer.input
    return given is not None and not bool(given.any())


def _is_pruned(layer: Layer, dead: int, units: int) -> bool:
    """Tell whether most of the units that are zero have weights of zero: somebody pruned them."""
    weight = layer.weight()
    if weight is None or dead == units or weight.dim() < 2:
        return False
    empty = int((weight.detach().flatten(1) == 0).all(1).sum())
    return empty >= dead / 2


def _is_relu(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Tell whether a clamp has the lower bound 0 and no upper one."""
    low = args[1] if len(args) > 1 else kwargs.get("min")
    high = args[2] if len(args) > 2 else kwargs.get("max")
    return type(low) in (int, float) and low == 0 and high is None


def _low_of_hardtanh(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args[1] if len(args) > 1 else kwargs.get("min_val", -1.0)
