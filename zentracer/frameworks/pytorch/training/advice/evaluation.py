"""``eval_in_train_mode`` and ``train_mode_not_restored``: the model is in the wrong mode.

RUNS IN the training process. Of each model one dropout or batch norm is listened to; its calls
tell that the model runs, whether with gradients, and in which mode.
"""

from __future__ import annotations

import functools
import sys
import types
import weakref
from dataclasses import dataclass, field
from typing import Any, Callable

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm  # type: ignore[attr-defined]
from torch.nn.modules.dropout import _DropoutNd  # type: ignore[attr-defined]

from zentracer.control.source import Place, place_of
from zentracer.frameworks.pytorch.frames import user_frame, user_frames
from zentracer.frameworks.pytorch.modules import qualified_name
from zentracer.frameworks.pytorch.replace import Replacements
from zentracer.frameworks.pytorch.training.advice.adviser import Adviser, Rule
from zentracer.frameworks.pytorch.training.advice.running import Run, outermost, site
from zentracer.frameworks.pytorch.training.advice.words import is_discarded, is_evaluation
from zentracer.frameworks.pytorch.training.detector import Looker
from zentracer.frameworks.pytorch.training.events import Backward, Update
from zentracer.wire.messages import Suggestion

RULE = Rule("eval_in_train_mode", "Evaluation in training mode")
NOT_RESTORED = Rule("train_mode_not_restored", "Training goes on in evaluation mode")
_TWICE = 2
"""Forward passes of an evaluation that are seen before it is told; one may be a try."""
_STEPS_IN_EVAL = 3
"""Training steps in evaluation mode before that is told."""
_CALLERS = 3
"""How far outwards two calls are compared to tell one loop from two lines."""


@dataclass
class _Model:
    """What has been seen of one model."""

    listened: weakref.ref[nn.Module]
    """The module whose calls tell."""
    evaluations: int = 0
    """Forward passes of an evaluation in training mode."""
    last_input: weakref.ref[Tensor] | None = None
    last_chain: tuple[Any, ...] = ()
    sampling: set[tuple[Any, ...]] = field(default_factory=lambda: set[tuple[Any, ...]]())
    """Call chains that pass the same input again and again: sampling with dropout."""
    mode: bool | None = None
    """``training`` at the last forward pass with gradients; None if there was none."""
    trained: bool = False
    """Whether a step was taken in training mode."""
    made_eval: Place | None = None
    """Where ``eval()`` was called after that."""
    evaluated: bool = False
    """Whether it has run without gradients since."""
    steps_in_eval: int = 0


class Modes(Adviser):
    """Compares the mode of each model with what is done with it."""

    filter = RULE.filter

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._models: weakref.WeakKeyDictionary[nn.Module, _Model] = weakref.WeakKeyDictionary()
        self._evaluates: dict[tuple[Any, ...], bool] = {}
        self._replaced = Replacements()
        self._replaced.put(nn.Module, "eval", self._around_eval)

    def close(self) -> None:
        """Leave no trace."""
        self._replaced.remove()
        self._models.clear()

    def looker(self, module: Any) -> Looker | None:
        """Listen to the first module of each model that behaves differently in evaluation."""
        if not _has_modes(module):
            return None
        run = outermost(sys._getframe(1))
        root = run.root if run is not None else module
        known = self._models.get(root)
        if known is None:
            self._models[root] = _Model(weakref.ref(module))
        elif known.listened() is None:
            known.listened = weakref.ref(module)
        elif known.listened() is not module:
            return None
        return self._ran

    def _ran(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any,
        frame: types.FrameType,
    ) -> None:  # fmt: skip
        run = outermost(frame)
        model = self._models.get(run.root) if run is not None else None
        if run is None or model is None or run.is_recomputed:
            return
        if self.training.with_gradients:
            model.mode = run.root.training
        elif run.root.training:
            self._ran_in_training(run, model)
        else:
            model.evaluated = True

    def backward_starts(self, run: Backward) -> None:
        """The same input after a training step is the next evaluation of it."""
        for model in self._models.values():
            model.last_input = None

    def update_ended(self, update: Update) -> None:
        """A step was taken: in which mode was it computed?"""
        for root, model in list(self._models.items()):
            mode, model.mode = model.mode, None
            if mode:
                model.trained = True
                model.steps_in_eval, model.made_eval = 0, None
            elif mode is not None and model.made_eval is not None and model.evaluated:
                model.steps_in_eval += 1
                if model.steps_in_eval == _STEPS_IN_EVAL and update.frame is not None:
                    self._tell_not_restored(root, model.made_eval, update.frame)

    def _around_eval(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def eval(module: nn.Module) -> Any:
            if not torch.compiler.is_dynamo_compiling():
                frame = user_frame(sys._getframe(1))
                if frame is not None and module.training:
                    self.guarded("at eval()", self._made_eval, module, frame)
            return original(module)

        return eval

    def _made_eval(self, module: nn.Module, frame: types.FrameType) -> None:
        model = self._models.get(module)
        if model is not None and model.trained:
            model.made_eval = place_of(frame.f_code, frame.f_lasti, "eval")
            model.evaluated, model.steps_in_eval = False, 0

    # -- judging -------------------------------------------------------------------------------

    def _ran_in_training(self, run: Run, model: _Model) -> None:
        """The model ran without gradients, in training mode."""
        if not run.is_direct:
            return  # a library's own loop, such as update_bn
        frames = user_frames(run.frame, limit=_CALLERS)
        chain = tuple(map(site, frames))
        last = model.last_input() if model.last_input is not None else None
        if last is not None and last is run.input and chain == model.last_chain:
            model.sampling.add(chain)
        model.last_input = weakref.ref(run.input) if run.input is not None else None
        model.last_chain = chain
        if chain in model.sampling or not self._is_evaluation(chain, frames):
            return
        model.evaluations += 1
        if model.evaluations == _TWICE:
            self._tell_training(run, model)

    def _is_evaluation(self, chain: tuple[Any, ...], frames: list[types.FrameType]) -> bool:
        known = self._evaluates.get(chain)
        if known is None:
            known = self._evaluates[chain] = is_evaluation(frames) and not is_discarded(frames[0])
        return known

    def _tell_training(self, run: Run, model: _Model) -> None:
        active = _active(run.root)
        if active is None:
            return
        name = qualified_name(active, run.root)
        effect = (
            "each pass draws other units, so scores are random and too low"
            if not isinstance(active, _BatchNorm)
            else "the batch's own statistics are used, and the evaluation data change the running "
            "ones"
        )
        self.tell(
            RULE,
            run.frame,
            f"{type(active).__name__} `{name}` is in training mode although gradients are off: "
            f"{effect}",
            op=type(run.root).__name__,
            module=name,
            suggestions=(
                Suggestion(
                    title="call model.eval() before evaluating, and model.train() after it",
                    why="torch.no_grad() switches gradients off, not dropout and batch norm.",
                ),
            ),
        )

    def _tell_not_restored(self, root: nn.Module, made: Place, frame: types.FrameType) -> None:
        if not any(_has_modes(module) for module in root.modules()):
            return
        self.tell(
            NOT_RESTORED,
            frame,
            f"{type(root).__name__} was trained in training mode, was evaluated after eval(), and "
            f"has since taken {_STEPS_IN_EVAL} steps without dropout and with frozen batch norm "
            "statistics",
            op="step",
            phase="update",
            origin=made,
            module=type(root).__name__,
            suggestions=(
                Suggestion(
                    title="call model.train() where training goes on",
                    why="eval() lasts until train() is called; at the start of each epoch it "
                    "cannot be forgotten.",
                ),
            ),
        )


def _has_modes(module: Any) -> bool:
    """Tell whether a module behaves differently in evaluation."""
    if isinstance(module, _DropoutNd):
        return module.p > 0
    return isinstance(module, _BatchNorm) and module.track_running_stats


def _active(root: nn.Module) -> nn.Module | None:
    return next((m for m in root.modules() if m.training and _has_modes(m)), None)
