"""Checks on an accelerator, without waiting for it at each operation.

RUNS IN the training process. Each checked result adds one number that stays on the device; they
are read together once a step, before the optimiser changes the weights.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Iterable

import torch
from torch import Tensor

from zentracer.control.source import place_of
from zentracer.frameworks.pytorch.finite import readable_tensor
from zentracer.frameworks.pytorch.report import Finding
from zentracer.frameworks.pytorch.trail import Site
from zentracer.frameworks.pytorch.unseen import is_intercepted, is_tracing

if TYPE_CHECKING:
    import types

    from zentracer.frameworks.pytorch.steps import Loss
    from zentracer.frameworks.pytorch.watch import Watch

_LIMIT = 20_000
_NOTE = (
    "results on {device} are read once a step, so the program stands at the end of a step. From "
    'now on this line is checked while it executes; with "precise": true, all are.'
)


class Deferred:
    """The pending checks of one process."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._pending: list[tuple[Tensor, Tensor, Site, str, weakref.ref[Tensor]]] = []
        """One entry a check, appended in one piece: several threads may add."""
        self.loss: Loss | None = None
        """A loss that is read together with the checks."""
        self.dropped = 0

    def add(
        self, x: Tensor, inputs: Iterable[Tensor], site: Site | None, phase: str = "forward"
    ) -> None:
        """Queue a check of ``x``, made at ``site`` from ``inputs``."""
        if site is None or is_tracing() or is_intercepted() or readable_tensor(x) is not x:
            return
        if x.is_cuda and torch.cuda.is_current_stream_capturing():
            return
        if len(self._pending) >= _LIMIT:
            self.dropped += 1
            return
        try:
            with torch.no_grad():
                before = [
                    _total(y) for y in inputs if y.device == x.device and readable_tensor(y) is y
                ]
                given = sum(before[1:], before[0]) if before else x.new_zeros(()).float()
                self._pending.append((_total(x), given, site, phase, weakref.ref(x)))
        except Exception:  # out of memory, or an input of the user's that raises
            self.dropped += 1

    @property
    def has_checks(self) -> bool:
        """Whether reading them will wait for a device."""
        return bool(self._pending)

    def flush(self, frame: types.FrameType | None) -> None:
        """Read all pending checks, in one transfer a device, and stop for the first bad one."""
        pending, self._pending = self._pending, []
        loss, self.loss = self.loss, None
        if not pending or frame is None or self._watch.polluted:
            return
        index = _first_made([check[0] for check in pending], [check[1] for check in pending], loss)
        if index is None:
            return
        total, _, site, phase, reference = pending[index]
        tensor = reference()
        if tensor is not None and bool(tensor.isfinite().all()):
            return  # the sum overflowed, the values did not
        self._watch.suspects.add(site)
        self._watch.stop(self._finding(site, phase, tensor, total, frame), frame)

    def _finding(
        self, site: Site, phase: str, tensor: Tensor | None, total: Tensor, frame: types.FrameType
    ) -> Finding:
        nan = int(tensor.isnan().sum()) if tensor is not None else int(total.isnan())
        inf = int(tensor.isinf().sum()) if tensor is not None else int(total.isinf())
        return Finding(
            op=site.op,
            phase=phase,
            tensor=tensor.detach().cpu() if tensor is not None else None,
            nan=nan,
            inf=inf,
            source=place_of(frame.f_code, frame.f_lasti),
            origin=place_of(site.code, site.lasti, site.op),
            subject=f"output of {site.op}",
            finite_before="Every operation that was checked earlier in this step was finite.",
            note=_NOTE.format(device=total.device),
        )


def _total(x: Tensor) -> Tensor:
    """Return one float32 number on the device of ``x`` that is not finite if an element is not."""
    x = x.detach()
    return x.abs().sum().float() if x.is_complex() else x.sum(dtype=torch.float32)


def _first_made(results: list[Tensor], inputs: list[Tensor], loss: Loss | None) -> int | None:
    """Return the index of the first operation that made NaN or Inf out of something better.

    The value of ``loss``, if it is on one of their devices, comes with them.
    """
    found: list[int] = []
    for device in {x.device for x in results}:
        indices = [i for i, x in enumerate(results) if x.device == device]
        pairs = [(results[i], inputs[i]) for i in indices]
        if loss is not None and loss.copy is not None and loss.copy.device == device:
            pairs.append((loss.copy, loss.copy))
        rows = torch.stack([torch.stack(pair) for pair in pairs]).cpu().tolist()
        if loss is not None and len(rows) > len(indices):
            loss.value = rows.pop()[0]
        for index, (out, before) in zip(indices, rows):
            made_nan = out != out and before == before
            made_inf = out - out != 0 and before - before == 0
            if made_nan or made_inf:
                found.append(index)
                break
    return min(found, default=None)
