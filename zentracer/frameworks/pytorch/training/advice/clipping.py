"""``clip_after_step`` and ``clip_before_unscale``: clipping that does not do what it is there for.

RUNS IN the training process. The clipping functions of torch, however they were imported, are
seen by the norm or clamp that they compute.
"""

from __future__ import annotations

import math
import sys
import types
import weakref
from collections import deque
from typing import Any, Mapping, NamedTuple

import torch
from torch import Tensor
from torch.amp.grad_scaler import OptState
from torch.nn.utils import clip_grad

from zentracer.control.source import place_of
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.training.advice.adviser import Adviser, Rule
from zentracer.frameworks.pytorch.training.advice.running import site
from zentracer.frameworks.pytorch.training.advice.words import identifiers, words_of
from zentracer.frameworks.pytorch.training.detector import Handler
from zentracer.frameworks.pytorch.training.events import Backward, Update
from zentracer.wire.messages import Suggestion

LATE = Rule("clip_after_step", "Clipping after the step")
SCALED = Rule("clip_before_unscale", "Clipping of scaled gradients")
_TWICE = 2
"""Steps in which the clipping came too late or too early, until that is told."""
_FOR_SHOW = 1e6
"""A maximum from here on is there to measure the norm, not to clip."""
_FILE = clip_grad.__file__
_CLIPS = frozenset(["clip_grad_norm_", "clip_grad_value_"])
_DEPTH = 12
_MAX_STEPPED = 16


class _Scaled(NamedTuple):
    """A clipping of scaled gradients."""

    code: types.CodeType
    lasti: int
    name: str


class _Spent(NamedTuple):
    """One step of an optimiser, and the first gradient that it used."""

    optimizer: weakref.ref[Any]
    code: types.CodeType | None
    lasti: int
    gradient: weakref.ref[Tensor]
    version: int


class Clipping(Adviser):
    """Compares when gradients are clipped with when they are used."""

    filter = LATE.filter

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._stepped: deque[_Spent] = deque(maxlen=_MAX_STEPPED)
        """Optimisers that have stepped since gradients were last computed."""
        self._clipped_in_time = False
        self._times: dict[tuple[str, tuple[int, int]], int] = {}
        self._scaled: _Scaled | None = None
        """A clipping of scaled gradients that no step has used yet."""
        self.glance = self._is_wanted

    def ops(self) -> Mapping[Any, Handler]:
        """Ask for what the clipping functions call."""
        clamp = torch._foreach_clamp_min_  # pyright: ignore[reportPrivateImportUsage]
        return {torch.linalg.vector_norm: self._clips, clamp: self._clips}

    def _is_wanted(self, *call: Any) -> bool:
        return _clip_frame(sys._getframe(1)) is not None

    def backward_starts(self, run: Backward) -> None:
        """New gradients come."""
        self._stepped.clear()
        if run.accumulates:
            self._clipped_in_time, self._scaled = False, None

    def update_starts(self, update: Update) -> None:
        """A step uses the gradients: were they clipped while scaled?"""
        clip, self._scaled = self._scaled, None
        scaler = self._scaler()
        if clip is None or scaler is None or update.frame is None:
            return
        if id(update.optimizer) in scaler._per_optimizer_states and self._count(
            "scaled", (id(clip.code), clip.lasti)
        ):
            self._tell_scaled(clip, update.frame)

    def update_ended(self, update: Update) -> None:
        """A step has used the gradients."""
        frame = update.frame
        code, lasti = (frame.f_code, frame.f_lasti) if frame is not None else (None, 0)
        first = next((p.grad for p in update.parameters if p.grad is not None), None)
        if first is not None:
            gradient, version = weakref.ref(first), first._version
            self._stepped.append(
                _Spent(weakref.ref(update.optimizer), code, lasti, gradient, version)
            )

    def _clips(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any,
        frame: types.FrameType,
    ) -> None:  # fmt: skip
        inner = _clip_frame(frame)
        user = user_frame(inner)
        if inner is None or user is None:
            return
        values = inner.f_locals
        most = values.get("max_norm", values.get("clip_value"))
        gradients = {id(g) for g in values.get("grads") or ()}
        if not gradients or not isinstance(most, (int, float)) or not most < _FOR_SHOW:
            return
        name = inner.f_code.co_name
        if not self._are_spent(gradients, changes=func is not torch.linalg.vector_norm):
            self._clipped_in_time = True
            self._note_scaled(user, name)
        elif not self._clipped_in_time and self._count("late", site(user)):
            self._tell_late(user, name, float(most))

    def _are_spent(self, gradients: set[int], *, changes: int) -> bool:
        """Tell whether a step has used all of these gradients, and they are the same still.

        They may have been computed in another way than by backward since, and put there by hand.

        Args:
            gradients: identities of those that are clipped.
            changes: how often the clipping itself has changed each by now.
        """
        spent: set[int] = set()
        for step in self._stepped:
            first = step.gradient()
            if first is None or first._version != step.version + changes:
                continue
            for group in getattr(step.optimizer(), "param_groups", ()):
                spent |= {id(p.grad) for p in group["params"] if p.grad is not None}
        return gradients <= spent

    def _note_scaled(self, user: types.FrameType, name: str) -> None:
        scaler = self._scaler()
        if scaler is None or any(
            state["stage"] is OptState.UNSCALED for state in scaler._per_optimizer_states.values()
        ):
            return
        place = place_of(user.f_code, user.f_lasti, name)
        said = identifiers(place.node) if place.node is not None else set[str]()
        if any("scale" in words_of(word) for word in said):
            return  # the threshold is scaled as well
        self._scaled = _Scaled(user.f_code, user.f_lasti, name)

    def _scaler(self) -> Any:
        ref = self.training.watch.scaler
        scaler = ref() if ref is not None else None
        return scaler if hasattr(scaler, "_per_optimizer_states") else None

    def _count(self, what: str, key: tuple[int, int]) -> bool:
        times = self._times[what, key] = self._times.get((what, key), 0) + 1
        return times == _TWICE

    def _tell_late(self, frame: types.FrameType, name: str, most: float) -> None:
        ref, code, lasti, *_ = self._stepped[-1]
        step = place_of(code, lasti, "step") if code is not None else None
        kind = type(ref()).__name__
        at = f" on line {step.location.line}" if step is not None else ""
        self.tell(
            LATE,
            frame,
            f"{name} comes after {kind}.step{at} has used the gradients, and before backward makes "
            f"new ones: the limit of {most:g} has no effect",
            op=name,
            phase="update",
            suggestions=(
                Suggestion(
                    title=f"move {name} between backward() and step()",
                    why="step() uses the gradients as they are when it is called.",
                ),
            ),
        )

    def _tell_scaled(self, clip: _Scaled, frame: types.FrameType) -> None:
        code, lasti, name = clip
        scale = self._scaler().get_scale() if self._scaler()._scale.is_cpu else math.nan
        by = f" by {scale:g}" if scale == scale else ""
        self.tell(
            SCALED,
            frame,
            f"{name} clips gradients that the gradient scaler has multiplied{by}, so nearly every "
            "step is clipped to almost nothing",
            op=name,
            phase="update",
            origin=place_of(code, lasti, name),
            suggestions=(
                Suggestion(
                    title="call scaler.unscale_(optimizer) before clipping",
                    why="after unscale_ the gradients have their true size; scaler.step() then "
                    "does not unscale them again.",
                ),
            ),
        )


def _clip_frame(frame: types.FrameType | None) -> types.FrameType | None:
    """Return the frame of the clipping function that is running."""
    for _ in range(_DEPTH):
        if frame is None:
            return None
        if frame.f_code.co_name in _CLIPS and frame.f_code.co_filename == _FILE:
            return frame
        frame = frame.f_back
    return None
