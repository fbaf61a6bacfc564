"""What half precision loses, in words, and what to try.

RUNS IN the training process, when there is something to tell.
"""

from __future__ import annotations

import torch
from torch import Tensor

from zentracer.frameworks.pytorch.training.events import Backward
from zentracer.wire.messages import Suggestion

UNDERFLOW = 0.5
"""Share of the elements that are not zero before an operation and are after it."""
SMALLEST = {torch.float16: 2.0**-14}
"""The smallest normal numbers; below them digits are lost, from 2**-25 on all. (Micikevicius et al.
2018, "Mixed Precision Training": there half of the gradients of a detector were zero in float16.)
bfloat16 has the range of float32."""


def lost(loss: float, peaks: list[float], zeros: list[float], sizes: list[int]) -> str | None:
    """Return the words on gradients of which most elements are too small for float16."""
    smallest = SMALLEST[torch.float16]
    tiny = [i for i, n in enumerate(sizes) if 0 < peaks[i] < smallest and zeros[i] >= UNDERFLOW * n]
    if max(peaks) < smallest and sum(zeros) >= UNDERFLOW * sum(sizes) and loss:
        tiny = list(range(len(sizes)))  # those that are zero as a whole, too
    if not tiny:
        return None
    gone, total = sum(zeros[i] for i in tiny), sum(sizes[i] for i in tiny)
    largest = max(peaks[i] for i in tiny)
    return (
        f"{gone:,.0f} of {total:,} elements of {len(tiny)} gradients are zero ({gone / total:.0%})"
        f" and the largest is {largest:.2g}, where float16 loses digits below 6e-05"
    )


def for_overflow(x: Tensor) -> tuple[Suggestion, ...]:
    """Return what to try where values grow over the limit of their type."""
    first = Suggestion(
        title="Compute this step in bfloat16 or float32",
        why="bfloat16 reaches 3e38 as float32 does: torch.autocast(device_type, "
        "dtype=torch.bfloat16), or x.float() before this line.",
    )
    second = Suggestion(
        title="Keep the values small",
        why="normalise before this layer, divide attention scores by sqrt(d) before the product "
        "rather than after it, and look for what grows from step to step.",
    )
    return (first, second) if x.dtype is torch.float16 else (second,)


def for_underflow() -> tuple[Suggestion, ...]:
    """Return what to try where an operation makes zeros."""
    return (
        Suggestion(
            title="Keep this in float32",
            why="the numbers are smaller than float16 can tell from 0: cast after they were "
            "scaled or summed, or use bfloat16.",
        ),
    )


def for_gradients(run: Backward) -> tuple[Suggestion, ...]:
    """Return what to try where gradients are too small."""
    if run.scale != 1.0:
        return (
            Suggestion(
                title="Raise the scale of the loss",
                why=f"it is {run.scale:g}; GradScaler(init_scale=2.0**16, growth_interval=200) "
                "finds a larger one sooner.",
            ),
        )
    return (
        Suggestion(
            title="Scale the loss",
            why="scaler = torch.amp.GradScaler(device_type); scaler.scale(loss).backward(); "
            "scaler.step(optimizer); scaler.update(). Gradients are then multiplied by 65536 while "
            "they are in float16.",
        ),
        Suggestion(
            title="Or use bfloat16",
            why="it has the range of float32, and needs no scaling.",
        ),
    )
