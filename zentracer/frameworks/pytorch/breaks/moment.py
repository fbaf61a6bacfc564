"""One moment at which a breakpoint by name may stop, as conditions see it.

RUNS IN the training process. Each value is computed when a condition reaches its name; a value of
an accelerator's tensor is waited for, because the condition asks for it.
"""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any, Callable, Mapping, Tuple, TypeVar, Union

from torch import Tensor

from zentracer.control.condition import STATISTICS
from zentracer.control.source import Place, place_of
from zentracer.frameworks.pytorch.breaks.statistics import Statistics
from zentracer.frameworks.pytorch.report import Finding
from zentracer.wire.filters import FUNCTION

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.hub import Training

_T = TypeVar("_T")
Later = Union[_T, Callable[[], _T]]
"""A value, or what computes it when it is asked for."""
Inputs = Tuple[Tuple["str | None", Tensor], ...]


class Moment:
    """A call, a gradient or a step; lives no longer than the look at it.

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
        phase: Later[str], x: Tensor | None = None, module: Later[str | None] = None,
        inputs: Later[Inputs] = (), shown: Later[Mapping[str, Any]] | None = None,
        origin: Later[Place] | None = None,
    ) -> None:  # fmt: skip
        self.frame, self.op = frame, op
        self._training, self._headline, self._subject = training, headline, subject
        self._x = x.detach() if x is not None else None
        self._module, self._phase = module, phase
        self._inputs, self._shown, self._origin = inputs, shown, origin

    @functools.cached_property
    def module(self) -> str | None:
        """Qualified name of the module, if there is one."""
        return _now(self._module)

    @functools.cached_property
    def phase(self) -> str:
        """Forward, loss, backward or update."""
        return _now(self._phase)

    def value_of(self, name: str) -> Any:
        """Return the value of one name of the condition language."""
        if name in STATISTICS:
            return self._statistics[name] if self._statistics is not None else None
        value = _VALUES.get(name)
        if value is not None:
            return value(self)
        return metadata(self._x, name) if self._x is not None else None

    def finding(self, numbers: str | None, note: str | None = None) -> Finding:
        """Return what is told when a breakpoint stops here."""
        place = place_of(self.frame.f_code, self.frame.f_lasti, self.op)
        return Finding(
            op=self.op,
            phase=self.phase,
            tensor=self._x,
            nan=0,
            inf=0,
            source=place,
            origin=_now(self._origin) or place,
            subject=self._subject,
            module=self.module,
            inputs=_now(self._inputs),
            filter=FUNCTION,
            headline=self._headline,
            numbers=numbers,
            note=note,
            reason="function breakpoint",
            shown=dict(_now(self._shown) or {}),
        )

    @functools.cached_property
    def _statistics(self) -> Statistics | None:
        return Statistics(self._x) if self._x is not None else None


def metadata(x: Tensor, name: str) -> Any:
    """Return what conditions call the shape, dtype, device and size of ``x``."""
    if name == "shape":
        return tuple(x.shape)
    if name == "dtype":
        return str(x.dtype).replace("torch.", "")
    if name == "device":
        return str(x.device)
    return x.numel() if name == "size" else None


_VALUES: dict[str, Callable[[Any], Any]] = {
    "module": lambda moment: moment.module or "",
    "op": lambda moment: moment.op,
    "phase": lambda moment: moment.phase,
    "step": lambda moment: moment._training.watch.step or 0,
    "epoch": lambda moment: moment._training.epoch(moment.frame),
    "rank": lambda moment: moment._training.watch.host.rank or 0,
    "x": lambda moment: moment._x,
    "name": lambda moment: moment._subject,
}


def _now(value: Any) -> Any:
    return value() if callable(value) else value
