"""Steps as the user sees them: their number, the loss, and what ZenTracer takes of their time.

RUNS IN the training process, in the hooks of an armed watch.
"""

from __future__ import annotations

import types
import weakref
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from zentracer.frameworks.pytorch.finite import readable_tensor
from zentracer.frameworks.pytorch.overhead import Overhead
from zentracer.frameworks.pytorch.unseen import is_tracing, unseen
from zentracer.frameworks.pytorch.watched import count_steps_of, step_completed
from zentracer.wire.messages import Step

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.watch import Watch

_SCALER_FILE = "grad_scaler.py"
_SCALER_DEPTH = 8
"""How many frames may lie between a gradient scaler and the hooks of an optimiser."""


class Loss:
    """The value of a loss, once it can be read without waiting for its device."""

    def __init__(self) -> None:
        self.value: float | None = None
        self.copy: Tensor | None = None
        """On its device, where it is read together with the checks."""


class Steps:
    """What has been seen of the steps of one armed state."""

    def __init__(self, watch: Watch) -> None:
        self.overhead = Overhead(watch)
        self._watch = watch
        self.is_logged = False
        """The program says its loss itself, with ``zentracer.log``."""
        self._loss: Loss | None = None
        self._loss_step: int | None = None
        """The step that the loss belongs to; None until that is complete."""
        self._scaling = False
        """Whether a gradient scaler has been at work in this step."""
        self._scaled: weakref.ref[Tensor] | None = None
        """What it made of a loss last."""
        self._unscaled: Loss | None = None
        """That loss."""
        count_steps_of(watch)

    @property
    def loss(self) -> float | None:
        """The last loss that has been seen; None while its device has not been waited for."""
        return self._loss.value if self._loss is not None else None

    def scaled(self, loss: Any, result: Any) -> None:
        """Note that a gradient scaler has made ``result`` of ``loss``."""
        self._scaling, self._scaled, self._unscaled = True, None, None
        if isinstance(result, Tensor):
            self._scaled, self._unscaled = weakref.ref(result), self._read(loss)

    def backward_starts(self, roots: tuple[Any, ...]) -> None:
        """Note the loss that backward is called on."""
        if self.is_logged:
            return
        self._loss = self.loss_of(roots)
        self._loss_step = None
        self._watch.deferred.loss = self._loss

    def loss_of(self, roots: tuple[Any, ...]) -> Loss | None:
        """Return the loss that backward is called on, without the factor of a gradient scaler."""
        root = roots[0] if len(roots) == 1 else None
        if not self._scaling:
            return self._read(root)
        if self._scaled is not None and root is self._scaled():
            return self._unscaled
        return None  # made of a scaled loss somehow: what it was cannot be told

    def logged(self, value: float) -> None:
        """Note the loss of this step as the program says it, whatever backward is called on."""
        self.is_logged = True
        self._loss = Loss()
        self._loss.value = value
        self._loss_step = None

    def update_starts(self, frame: types.FrameType) -> None:
        """Drop a loss that a scaler other than torch's own has multiplied."""
        if (
            self._loss is not None
            and not self._scaling
            and not self.is_logged
            and _is_called_by_scaler(frame)
        ):
            self._loss = None

    def completed(self, step: int) -> None:
        """Tell the user that an optimiser has completed ``step``."""
        if self._loss_step not in (None, step) and not self.is_logged:
            self._loss = None  # no backward since
        self._loss_step = step
        self._scaling, self._scaled, self._unscaled = False, None, None
        self._tell(step)
        step_completed(step, self._watch.report_failure)

    def stops(self, step: int) -> None:
        """Tell the user where the program stands: with the loss whose backward has begun, if so."""
        self._tell(step)

    def _tell(self, step: int) -> None:
        loss = self._loss.value if self._loss is not None else None
        self._watch.host.stepped(Step(step=step, loss=loss, overhead=self.overhead.share))

    def _read(self, x: Any) -> Loss | None:
        try:
            with unseen():
                return self._loss_of(x)
        except Exception as error:  # ours to report, never the training's to die from
            self._watch.report_failure("read the loss", error)
            return None

    def _loss_of(self, x: Any) -> Loss | None:
        if not isinstance(x, Tensor) or readable_tensor(x) is not x or is_tracing():
            return None
        if x.numel() != 1 or x.is_complex():
            return None
        loss = Loss()
        if not self._watch.defers(x):
            loss.value = float(x.detach().item())
        elif not (x.is_cuda and torch.cuda.is_current_stream_capturing()):
            # A copy, because the program may go on to change its own.
            loss.copy = x.detach().to(torch.float32, copy=True).reshape(())
        return loss


def _is_called_by_scaler(frame: types.FrameType | None) -> bool:
    for _ in range(_SCALER_DEPTH):
        if frame is None:
            return False
        if frame.f_code.co_filename.endswith(_SCALER_FILE):
            return True
        frame = frame.f_back
    return False
