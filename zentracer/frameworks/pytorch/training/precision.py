"""``zentracer.precision``: float16 and bfloat16 values at the ends of their range.

RUNS IN the training process. Stops before the Inf: where values have grown over half of what their
type can hold, and where many become zero that are not.
"""

from __future__ import annotations

import statistics
import types
from dataclasses import dataclass, field
from typing import Any, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from zentracer.control.source import place_of
from zentracer.frameworks.pytorch.finite import PLAIN, readable_tensor
from zentracer.frameworks.pytorch.plans import readable
from zentracer.frameworks.pytorch.report import Finding
from zentracer.frameworks.pytorch.training.activations import ActivationDetector, Call
from zentracer.frameworks.pytorch.training.detector import Handler
from zentracer.frameworks.pytorch.training.events import Backward
from zentracer.frameworks.pytorch.training.precision_words import (
    UNDERFLOW,
    for_gradients,
    for_overflow,
    for_underflow,
    lost,
)
from zentracer.wire.filters import PRECISION

NEAR = 0.5
"""Share of the largest number of the type: one more doubling, as in a step of growth, is Inf."""
GROWTH = 2.0
"""By so much values must be above the median of the looks before: a steady size is none to end."""
AT_ONCE = 0.9
"""Share that is told even of the first value seen."""
GRADIENT_STEPS = 3
"""Backward passes in a row whose gradients underflow."""
_HALF = frozenset((torch.float16, torch.bfloat16))
_MASK = 0.99
"""Values below -0.99 of the limit are a mask's ``finfo.min``."""
_MIN_SIZE = 64
_HISTORY = 20


def _named(names: str) -> frozenset[Any]:
    found = set()
    for name in names.split():
        for owner in (torch, Tensor, F):
            function = getattr(owner, name, None)
            if callable(function):
                found.add(function)
    return frozenset(found)


_GROWING = _named(
    """
    linear matmul mm bmm addmm baddbmm einsum conv1d conv2d conv3d conv_transpose1d
    conv_transpose2d conv_transpose3d bilinear exp expm1 square pow mul mul_ add add_ sum cumsum
    layer_norm batch_norm group_norm rms_norm relu gelu silu scaled_dot_product_attention
    """
) | {Tensor.__matmul__, Tensor.__pow__, Tensor.__rmatmul__}
_SHRINKING = _named("half to type mul mul_ div div_ square pow true_divide") | {Tensor.__pow__}


@dataclass
class _State:
    """What is known of one operation at one place."""

    peaks: list[float] = field(default_factory=list)
    """Largest magnitude of each look."""
    underflows: int = 0
    """Steps in a row."""
    step: int = -1
    told: str | None = None
    """Words on what the last look found, for the next call of the place."""


class Precision(ActivationDetector[_State]):
    """Stops at an operation whose half-precision results leave the range of their type."""

    filter = PRECISION
    wants_leaves = True

    def __init__(self, training: Any, armed: Any) -> None:
        super().__init__(training, armed)
        self._half_seen = False
        """Whether float16 was seen in this pass."""
        self._gradients: dict[tuple[int, ...], int] = {}
        """Backward passes in a row whose gradients underflow, by place."""

    def ops(self) -> Mapping[Any, Handler]:
        """Return the operations whose results grow or shrink."""
        return dict.fromkeys((*_GROWING, *_SHRINKING), self._look)

    @staticmethod
    def glance(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> bool:
        """Tell whether a result is in half precision."""
        return type(out) in PLAIN and out.dtype in _HALF

    def _look(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any,
        frame: types.FrameType,
    ) -> None:  # fmt: skip
        call = self.call_of(readable(func.__name__), out, frame)
        if call is None or not call.out.numel():
            return
        self._half_seen = self._half_seen or out.dtype is torch.float16
        self.ask(call)
        if not self.adaptive:
            return
        state = self.state_of(call, _State)
        if state is None:
            return
        if func in _GROWING:
            self._watch_growth(call, state)
        if func in _SHRINKING and out.dtype is torch.float16 and out.numel() >= _MIN_SIZE:
            self._watch_underflow(call, state, args)
        if state.told is not None:
            words, state.told = state.told, None
            self._tell(call, words)

    # -- forward -----------------------------------------------------------------------------------

    def _watch_growth(self, call: Call, state: _State) -> None:
        limit = torch.finfo(call.out.dtype).max
        low, high = call.out.aminmax()
        both = torch.stack((low, high)).float()

        def then(numbers: list[float]) -> None:
            smallest = 0.0 if numbers[0] <= -_MASK * limit else -numbers[0]
            peak = max(smallest, numbers[1])
            if peak != peak or peak > limit:
                return  # NaN and Inf have a filter of their own
            usual = statistics.median(state.peaks) if state.peaks else None
            grown = usual is not None and peak >= GROWTH * usual
            rising = len(state.peaks) == 1 and peak > 1.05 * state.peaks[0]
            if peak > NEAR * limit:
                self.suspect()
                if grown or rising or peak > AT_ONCE * limit:
                    before = f", {usual:.3g} in the steps before" if usual is not None else ""
                    state.told = (
                        f"Low-precision overflow ahead|values reach {peak:,.0f}, "
                        f"{peak / limit:.0%} of what {_type(call.out)} can hold ({limit:,.3g})"
                        f"{before}"
                    )
            state.peaks.append(peak)
            del state.peaks[:-_HISTORY]

        self.training.readout.read(both, then)

    def _watch_underflow(self, call: Call, state: _State, args: tuple[Any, ...]) -> None:
        given = [x.detach() for x in args[:2] if type(x) in PLAIN and x.is_floating_point()]
        given = [x for x in given if x.shape == call.out.shape or not x.dim()]
        if not given:
            return
        if call.op in {"to", "type", "half"} and given[0].dtype is torch.float16:
            return
        alive = torch.ones((), dtype=torch.bool, device=call.out.device)
        for x in given:
            alive = alive & (x != 0)
        alive = alive.expand(call.out.shape)
        gone_now = (alive & (call.out == 0)).sum(dtype=torch.float32)
        counts = torch.stack((gone_now, alive.sum(dtype=torch.float32)))
        step, place_step = self.step, state.step
        state.step = step

        def then(numbers: list[float]) -> None:
            gone, whole = numbers
            if whole < _MIN_SIZE or gone < UNDERFLOW * whole:
                state.underflows = 0
                return
            self.suspect()
            if step != place_step or not state.underflows:
                state.underflows += 1
            if state.underflows >= GRADIENT_STEPS:
                state.told = (
                    f"Low-precision underflow|{gone:,.0f} of {whole:,.0f} elements that are not "
                    f"zero before become zero ({gone / whole:.0%}), "
                    f"{state.underflows} steps in a row: float16 ends at 6e-08"
                )

        self.training.readout.read(counts, then)

    def _tell(self, call: Call, words: str) -> None:
        headline, numbers = words.split("|")
        name = self.name_of(call)
        place = call.place()
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
            filter=PRECISION,
            headline=f"{headline} in {call.op}" + (f" of {name}" if name else ""),
            numbers=numbers,
            suggestions=for_overflow(call.out) if "overflow" in headline else for_underflow(),
        )
        self.stop_for(call, finding, ("precision", headline, name, call.op))

    # -- backward ----------------------------------------------------------------------------------

    def backward_ended(self, run: Backward) -> None:
        """Look at the gradients if float16 was about."""
        super().backward_ended(run)
        half_seen, self._half_seen = self._half_seen, False
        if not half_seen or self.rests or not self.adaptive or run.frame is None:
            return
        if run.inputs or not run.accumulates:
            return
        self._watch_gradients(run)

    def _watch_gradients(self, run: Backward) -> None:
        gradients = [
            (leaf, plain)
            for leaf in run.leaves
            if leaf.grad is not None and (plain := readable_tensor(leaf.grad)) is not None
            if plain.dim() >= 2 and plain.numel() >= _MIN_SIZE
        ]
        if not gradients:
            return
        device = gradients[0][1].device  # of a model on several: the part nearest to the loss
        gradients = [(leaf, g) for leaf, g in gradients if g.device == device]
        loss = run.roots[0].detach() if len(run.roots) == 1 else torch.ones(())
        parts = [loss.float().reshape(-1)[:1].to(device)]
        parts += [
            torch.stack((g.abs().amax().float(), (g == 0).sum(dtype=torch.float32)))
            for _, g in gradients
        ]
        sizes = [g.numel() for _, g in gradients]
        key, frame = run.site, run.frame
        found: list[str] = []

        def then(values: list[float]) -> None:
            words = lost(values[0], values[1::2], values[2::2], sizes)
            count = self._gradients.get(key, 0) + 1 if words else 0
            self._gradients[key] = count
            if words:
                self.suspect()
            if words and count >= GRADIENT_STEPS:
                found.append(f"{words}, {count} backward passes in a row")

        self.training.readout.read(torch.cat(parts), then)
        if found and frame is not None and self.training.is_fresh(("underflow", key)):
            self._tell_gradients(run, found[0], frame)

    def _tell_gradients(self, run: Backward, numbers: str, frame: types.FrameType) -> None:
        place = place_of(frame.f_code, frame.f_lasti, "backward")
        finding = Finding(
            op="backward",
            phase="backward",
            tensor=None,
            nan=0,
            inf=0,
            source=place,
            origin=place,
            subject="gradients",
            filter=PRECISION,
            headline="Low-precision underflow of the gradients",
            numbers=numbers,
            suggestions=for_gradients(run),
        )
        self.training.stop(self.adaptive, finding, frame)


def _type(x: Tensor) -> str:
    return str(x.dtype).replace("torch.", "")
