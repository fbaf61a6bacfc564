"""The output of a module or an activation, as conditions see it.

RUNS IN the training process. Each value is computed when a condition reaches its name. A value of
an accelerator's tensor is waited for: the condition asks for it.
"""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from zentracer.control.condition import STATISTICS
from zentracer.control.source import place_of
from zentracer.frameworks.base import ArmedFilter
from zentracer.frameworks.pytorch.finite import readable_tensor
from zentracer.frameworks.pytorch.report import Finding
from zentracer.observe.stats import exact_stats
from zentracer.wire.filters import Filter
from zentracer.wire.messages import Stats

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.hub import Training

_MAX_NAMED = 6


class Output:
    """One output at one moment; lives no longer than the look at it."""

    def __init__(
        self, training: Training, module: nn.Module | None, name: str, x: Tensor,
        frame: types.FrameType, *, op: str | None = None, node: Any = None,
    ) -> None:  # fmt: skip
        self.module, self.name, self.frame = module, name, frame
        self.node = x.grad_fn if node is None else node
        self.x = x.detach()
        self._training = training
        self.op = op or type(module).__name__

    def value_of(self, name: str) -> Any:
        """Return the value of one name of the condition language."""
        if name in STATISTICS:
            return getattr(self._stats, name) if self._stats is not None else None
        watch, x = self._training.watch, self.x
        found = {
            "module": lambda: self.name,
            "op": lambda: self.op,
            "phase": lambda: "forward",
            "step": lambda: watch.step or 0,
            "epoch": lambda: self._training.epoch(self.frame),
            "rank": lambda: watch.host.rank or 0,
            "x": lambda: x,
            "name": lambda: self._subject,
            "shape": lambda: tuple(x.shape),
            "dtype": lambda: str(x.dtype).replace("torch.", ""),
            "device": lambda: str(x.device),
            "size": lambda: x.numel(),
            "ratio": lambda: None,
        }
        return found[name]()

    def finding(self, kind: Filter, armed: ArmedFilter) -> Finding:
        """Return what is told when a condition holds."""
        place = place_of(self.frame.f_code, self.frame.f_lasti, self.op)
        condition = armed.condition
        text = getattr(condition, "text", "")
        names = getattr(condition, "names", frozenset())
        values = [
            f"{name} {_brief(self.value_of(name))}"
            for name in STATISTICS
            if name in names and self._stats is not None
        ]
        numbers = f"'{text}' holds"
        if values:
            numbers += f", {', '.join(values[:_MAX_NAMED])}"
        return Finding(
            op=self.op,
            phase="forward",
            tensor=self.x,
            nan=0,
            inf=0,
            source=place,
            origin=place,
            subject=self._subject,
            module=self.name or None,
            filter=kind,
            headline=f"Condition on the {self._subject}",
            numbers=numbers,
        )

    @property
    def _subject(self) -> str:
        return f"output of {self.name or self.op}"

    @functools.cached_property
    def _stats(self) -> Stats | None:
        readable = readable_tensor(self.x)
        return exact_stats(readable) if readable is not None else None


def _brief(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
