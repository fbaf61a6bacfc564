"""One moment at which a breakpoint by name may stop, as conditions see it.

RUNS IN the training process. Each value is computed when a condition reaches its name; a value of
an accelerator's tensor is waited for, because the condition asks for it.
"""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any, Mapping

from torch import Tensor

from zentracer.control.condition import STATISTICS
from zentracer.control.source import Place, place_of
from zentracer.frameworks.pytorch.finite import readable_tensor
from zentracer.frameworks.pytorch.report import Finding
from zentracer.observe.stats import exact_stats
from zentracer.wire.filters import FUNCTION
from zentracer.wire.messages import Stats

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.hub import Training


class Moment:
    """A call or a step; lives no longer than the look at it.

    Args:
        training: whose step and epoch count.
        frame: the user's frame that is to stop.
        headline: what happens here, e.g. ``encoder.0 (Linear) is about to run``.
        subject: what ``x`` is, e.g. ``input of encoder.0``.
        op: the module's class or the operation.
        phase: forward, loss, backward or update.
        x: the value; None where there is none.
        module: qualified name of the module, if there is one.
        inputs: tensors that went in, by name.
        shown: what else the scopes show; ``module`` is the module itself.
        origin: the line to blame where it is not that of ``frame``.
    """

    def __init__(
        self, training: Training, frame: types.FrameType, *, headline: str, subject: str, op: str,
        phase: str, x: Tensor | None = None, module: str | None = None,
        inputs: tuple[tuple[str | None, Tensor], ...] = (),
        shown: Mapping[str, Any] | None = None, origin: Place | None = None,
    ) -> None:  # fmt: skip
        self.frame, self.module, self.op, self.phase = frame, module, op, phase
        self._training, self._headline, self._subject = training, headline, subject
        self._x = x.detach() if x is not None else None
        self._inputs, self._shown, self._origin = inputs, dict(shown or {}), origin

    def value_of(self, name: str) -> Any:
        """Return the value of one name of the condition language."""
        if name in STATISTICS:
            return getattr(self._stats, name) if self._stats is not None else None
        watch, x = self._training.watch, self._x
        found = {
            "module": lambda: self.module or "",
            "op": lambda: self.op,
            "phase": lambda: self.phase,
            "step": lambda: watch.step or 0,
            "epoch": lambda: self._training.epoch(self.frame),
            "rank": lambda: watch.host.rank or 0,
            "x": lambda: x,
            "name": lambda: self._subject,
            "shape": lambda: tuple(x.shape) if x is not None else None,
            "dtype": lambda: str(x.dtype).replace("torch.", "") if x is not None else None,
            "device": lambda: str(x.device) if x is not None else None,
            "size": lambda: x.numel() if x is not None else None,
        }
        return found[name]() if name in found else None

    def finding(self, numbers: str | None) -> Finding:
        """Return what is told when a breakpoint stops here."""
        place = place_of(self.frame.f_code, self.frame.f_lasti, self.op)
        return Finding(
            op=self.op,
            phase=self.phase,
            tensor=self._x,
            nan=0,
            inf=0,
            source=place,
            origin=self._origin or place,
            subject=self._subject,
            module=self.module,
            inputs=self._inputs,
            filter=FUNCTION,
            headline=self._headline,
            numbers=numbers,
            reason="function breakpoint",
            shown=self._shown,
        )

    @functools.cached_property
    def _stats(self) -> Stats | None:
        readable = readable_tensor(self._x) if self._x is not None else None
        return exact_stats(readable) if readable is not None else None
