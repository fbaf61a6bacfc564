"""Why there is nothing to see, or what is special about it, in sentences.

RUNS IN the user's training process.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Optional

from zentracer.observe.facts import FAKE, FREED, LAZY, META, Facts
from zentracer.observe.kinds import NUMPY, array_kind
from zentracer.observe.quiet import torch_if_loaded
from zentracer.observe.stats import may_wait
from zentracer.present.arrays import shape_text

if TYPE_CHECKING:
    from zentracer.tensor_view.parts import Shown

CAPTURING = "A CUDA graph is being captured; reading the tensor would break it."
EMPTY = "This tensor is empty: it has no elements."
NOTHING = "The slice selects no elements."
MAGNITUDES = "Complex numbers are drawn by their magnitude."
DEVICE_SECONDS = 2.0
"""How long an accelerator may take to get to the tensor's value."""

_WHY = {
    FAKE: "A fake tensor has a shape but no data.",
    FREED: "The storage of this tensor has been freed, so there is nothing to read.",
    LAZY: "This parameter is lazy: it has no shape and no data before the first forward call.",
    META: "A tensor on the meta device has a shape but no data.",
}


def why_not_shown(array: Any, shown: Shown) -> Optional[str]:
    """Why the elements are not read; if they are, what is special about them becomes a remark."""
    if shown.data is None:
        return _why_unreadable(array, shown.facts)
    remark = _about(shown.facts, shown.data)
    if remark:
        shown.remarks.append(remark)
    if not all(shown.data.shape):
        return EMPTY
    if not shown.selection.size:
        return NOTHING
    return _why_not_now(shown.facts)


def _why_unreadable(array: Any, facts: Facts) -> str:
    if facts.why in _WHY:
        return _WHY[facts.why]
    if facts.why.startswith("unreadable: "):
        return f"Its metadata cannot be read: {facts.why[len('unreadable: ') :]}."
    if array_kind(type(array)) == NUMPY:
        return f"An array of {facts.dtype} holds no numbers that could be shown."
    kind = f"layout {facts.notes[0]}" if facts.notes else f"type {type(array).__name__}"
    return f"The elements of a tensor of {kind} cannot be read from here."


def _why_not_now(facts: Facts) -> Optional[str]:
    if facts.on_host:
        return None
    if not may_wait(facts):
        return CAPTURING
    if facts.device.startswith("cuda") and not _has_arrived(facts.device):
        return (
            f"{facts.device} has not computed this tensor after {DEVICE_SECONDS:g} s: it may wait "
            "for another process. Ask again later."
        )
    return None


def _about(facts: Facts, data: Any) -> Optional[str]:
    if tuple(data.shape) != facts.shape:
        what = f" ({facts.notes[0]})" if facts.notes else ""
        return f"Shown are the stored values{what}, of shape {shape_text(data.shape)}."
    if facts.dtype.startswith(("qint", "quint")):
        return f"Shown dequantised: {facts.notes[0]}."
    return None


def _has_arrived(device: str) -> bool:
    """Whether all work queued so far is done; reading would otherwise hang with the device."""
    cuda = torch_if_loaded().cuda
    event = cuda.Event()
    event.record(cuda.current_stream(device))
    deadline = time.monotonic() + DEVICE_SECONDS
    while not event.query():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True
