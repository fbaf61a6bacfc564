"""A parameter that may be a finding, as conditions see it.

RUNS IN the training process. Each value is computed when a condition reaches its name.
"""

from __future__ import annotations

import functools
import types
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import Tensor

from zentracer.control.condition import STATISTICS
from zentracer.control.source import Place, place_of
from zentracer.frameworks.pytorch.finite import readable_tensor
from zentracer.frameworks.pytorch.frames import user_frames
from zentracer.frameworks.pytorch.training import uses
from zentracer.frameworks.pytorch.training.names import Named
from zentracer.observe.stats import exact_stats
from zentracer.wire.messages import Stats

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.hub import Training


@dataclass
class Candidate:
    """One parameter at one moment; lives no longer than the event it was made in."""

    training: Training
    parameter: Tensor
    x: Tensor | None
    """What its condition looks at: the gradient, or the parameter after an update."""
    phase: str
    frame: types.FrameType
    norm: float | None = None
    ratio: float | None = None
    op: str | None = None
    """None: the kind of its module."""

    @functools.cached_property
    def named(self) -> Named | None:
        """Where the parameter is registered; None if no module has it."""
        return self.training.names.of(self.parameter, self.frame)

    @property
    def name(self) -> str:
        """The qualified name, else that of a variable, else its shape."""
        if self.named is not None:
            return self.named.name
        for user in user_frames(self.frame):
            for name, value in list(user.f_locals.items()):
                if value is self.parameter:
                    return name
        return f"a parameter of shape {tuple(self.parameter.shape)}"

    @property
    def module_name(self) -> str | None:
        """The qualified name of the module."""
        return self.named.module_name if self.named is not None else None

    @property
    def module(self) -> Any:
        """The module; None if there is none."""
        return self.named.module() if self.named is not None else None

    @property
    def operation(self) -> str:
        """What the finding is said to be made by."""
        module = self.module
        return self.op or (type(module).__name__ if module is not None else "backward")

    def origin(self, fallback: Place) -> Place:
        """Return the user's line that applies the parameter, or calls its module."""
        place = uses.use_in_forward(self.named) if self.named is not None else None
        if place is not None:
            return place
        modules, module = self.training.modules, self.module
        site = modules.site_of(module) if modules is not None and module is not None else None
        if site is not None:
            return place_of(site.code, site.lasti, site.op)
        return uses.use_in_frames(self.parameter, self.frame) or fallback

    def value_of(self, name: str) -> Any:
        """Return the value of one name of the condition language."""
        if name in STATISTICS:
            if name == "norm" and self.norm is not None:
                return self.norm
            return getattr(self._stats, name) if self._stats is not None else None
        watch = self.training.watch
        x = self.x if self.x is not None else self.parameter
        found = {
            "module": lambda: self.module_name or "",
            "op": lambda: self.operation,
            "phase": lambda: self.phase,
            "step": lambda: watch.step or 0,
            "epoch": lambda: self.training.epoch(self.frame),
            "rank": lambda: watch.host.rank or 0,
            "x": lambda: self.x,
            "name": lambda: self.name,
            "shape": lambda: tuple(x.shape),
            "dtype": lambda: str(x.dtype).replace("torch.", ""),
            "device": lambda: str(x.device),
            "size": lambda: x.numel(),
            "ratio": lambda: self.ratio,
        }
        return found[name]()

    @functools.cached_property
    def _stats(self) -> Stats | None:
        readable = readable_tensor(self.x)
        return exact_stats(readable.detach()) if readable is not None else None
