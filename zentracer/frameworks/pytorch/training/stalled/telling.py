"""How parameters that do not learn are told.

RUNS IN the training process, when there is something to tell.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any, Iterable, Optional

from torch import Tensor

from zentracer.control.source import Place, place_of
from zentracer.frameworks.pytorch.frames import variables
from zentracer.frameworks.pytorch.report import Finding
from zentracer.frameworks.pytorch.training.builder import construction_place
from zentracer.frameworks.pytorch.training.names import Named
from zentracer.frameworks.pytorch.training.stalled.records import Records
from zentracer.wire.filters import STALLED
from zentracer.wire.messages import Suggestion

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.hub import Training

_MAX_ROWS = 8
_MAX_NAMES = 3


class Stuck:
    """Parameters that do not learn for one and the same reason."""

    def __init__(self, parameters: list[Tensor], names: list[str], module: Optional[str]) -> None:
        self.parameters = parameters
        self.names = names
        self.module = module

    @property
    def subject(self) -> str:
        """The names as part of a sentence."""
        shown = self.names[:_MAX_NAMES]
        more = len(self.names) - len(shown)
        return f"{', '.join(shown)} and {more} more" if more else " and ".join(shown)

    def headline(self) -> str:
        """Return the beginning of the sentence."""
        return f"{self.subject} {'does' if len(self.names) == 1 else 'do'} not learn"


def stuck(training: Training, parameters: Iterable[Tensor], frame: types.FrameType) -> Stuck:
    """Return ``parameters`` with their names."""
    found = list(parameters)
    named = [training.names.of(p, frame) for p in found]
    names = [name_of(p, n, frame) for p, n in zip(found, named)]
    module = next((n.module_name for n in named if n is not None), None)
    return Stuck(found, names, module)


def name_of(parameter: Tensor, named: Optional[Named], frame: Optional[types.FrameType]) -> str:
    """Return the qualified name, else that of a variable, else the shape."""
    if named is not None:
        return named.name
    while frame is not None:
        for name, value in list(variables(frame).items()):
            if value is parameter:
                return name
        frame = frame.f_back
    return f"a parameter of shape {tuple(parameter.shape)}"


def finding(
    stuck: Stuck,
    frame: types.FrameType,
    numbers: str,
    origin: Optional[Place],
    *,
    op: str,
    phase: str = "update",
    suggestions: tuple[Suggestion, ...] = (),
    evidence: tuple[str, ...] = (),
    note: Optional[str] = None,
    values: Optional[dict[str, Any]] = None,
) -> Finding:
    """Return what is told: ``<names> do not learn: <numbers>``."""
    source = place_of(frame.f_code, frame.f_lasti, "step")
    return Finding(
        op=op,
        phase=phase,
        tensor=stuck.parameters[0].detach() if stuck.parameters else None,
        nan=0,
        inf=0,
        source=source,
        origin=origin or source,
        subject=f"parameter {stuck.names[0]}" if stuck.names else "parameter",
        module=stuck.module,
        suggestions=suggestions,
        note=note,
        frame=frame,
        filter=STALLED,
        headline=stuck.headline(),
        numbers=numbers,
        evidence=evidence,
        values=values or {},
    )


def rows(stuck: Stuck, text: str = "") -> tuple[str, ...]:
    """Return one line a parameter: name, type and shape, norm of its gradient."""
    lines: list[str] = []
    for name, parameter in zip(stuck.names[:_MAX_ROWS], stuck.parameters):
        dtype = str(parameter.dtype).replace("torch.", "")
        line = f"{name}  {dtype}[{', '.join(map(str, parameter.shape))}]"
        grad = parameter.grad
        if grad is not None and grad.is_cpu and not grad.is_sparse:
            line += f"  gradient norm {float(grad.detach().float().norm()):.3g}"
        elif grad is None:
            line += "  no gradient"
        lines.append(line + (f"  {text}" if text else ""))
    if len(stuck.names) > _MAX_ROWS:
        lines.append(f"and {len(stuck.names) - _MAX_ROWS} more")
    return tuple(lines)


def made_at(records: Records, optimizer: Any, frame: Optional[types.FrameType]) -> Optional[Place]:
    """Return the line that builds ``optimizer``: as it was seen, else as the source says."""
    noted = records.made(optimizer)
    if noted is not None and noted.place is not None:
        return noted.place
    return construction_place(optimizer, frame)
