"""What is said of exploding gradients and of diverging updates.

RUNS IN the training process, when there is something to tell.
"""

from __future__ import annotations

import dataclasses
import math
import types
from typing import TYPE_CHECKING, Any, Sequence

from torch import nn

from zentracer.control.source import place_of
from zentracer.frameworks.pytorch.finite import readable_tensor
from zentracer.frameworks.pytorch.report import Finding
from zentracer.frameworks.pytorch.suggest import sentence_case
from zentracer.frameworks.pytorch.training import causes, initial
from zentracer.frameworks.pytorch.training.builder import (
    is_adaptive,
    lower_gain,
    optimizer_of,
    rate_of,
)
from zentracer.frameworks.pytorch.training.candidate import Candidate
from zentracer.frameworks.pytorch.training.divergence import Giant, Streak
from zentracer.frameworks.pytorch.training.events import Backward
from zentracer.frameworks.pytorch.training.explosion import Start, norm_of
from zentracer.frameworks.pytorch.training.layers import Graph, spread_of
from zentracer.frameworks.pytorch.training.norms import Sample, Series
from zentracer.frameworks.pytorch.training.ratios import Change
from zentracer.frameworks.pytorch.training.table import table
from zentracer.wire.filters import EXPLODING
from zentracer.wire.messages import Suggestion

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.hub import Training

_ROWS = 8
_HEALTHY = 0.01
"""Update norm over weight norm of the first steps that are still good; 0.001 is usual."""
LATE = (
    "norms on an accelerator are read once they have arrived, so the program stands about a step "
    "after the one that they belong to."
)


def jump(
    worst: Candidate, factor: float, series: Series, candidates: list[Candidate], sample: Sample,
    run: Backward, graph: Graph | None,
) -> Finding:  # fmt: skip
    """Return the finding of a norm far above its history."""
    count = len(series.totals)
    median = series.median_of(worst.parameter)
    norm = worst.norm or 0.0
    numbers = f"norm {norm:.3g}"
    if median:
        numbers += f", {norm / median:.3g} times its median of {median:.3g} over {count} steps"
    numbers += f"; all gradients together {factor:.3g} times theirs"
    rows = [(c, series.median_of(c.parameter)) for c in _largest(candidates)]
    evidence = table(
        [c.name, f"norm {c.norm or 0.0:.3g}", f"{(c.norm or 0) / m:.3g} x median" if m else ""]
        for c, m in rows
    )
    return _gradient_finding(
        worst, numbers, evidence, _causes(worst, candidates, graph), run, sample
    )


def start(
    found: Start, candidates: list[Candidate], sample: Sample, run: Backward, graph: Graph | None
) -> Finding:
    """Return the finding of a norm that is out of proportion to the weights."""
    worst = found.worst
    numbers = (
        f"norm {worst.norm or 0.0:.3g}; the gradients of all layers are {found.share:.3g} times "
        f"as large as the weights, and {found.cause}"
    )
    evidence = table(
        [
            c.name,
            f"norm {c.norm or 0.0:.3g}",
            f"{(c.norm or 0.0) / weights:.3g} x weights"
            if (weights := norm_of(c.parameter))
            else "",
        ]
        for c in _largest(candidates)
    )
    return _gradient_finding(
        worst, numbers, evidence, _causes(worst, candidates, graph), run, sample
    )


def over_threshold(
    candidate: Candidate, ranked: list[Candidate], sample: Sample, run: Backward
) -> Finding:
    """Return the finding of a condition of the user's own."""
    evidence = table([c.name, f"norm {c.norm or 0.0:.3g}"] for c in ranked[:_ROWS])
    numbers = f"norm {candidate.norm or 0.0:.3g}"
    return _gradient_finding(
        candidate, numbers, evidence, _causes(candidate, ranked, None), run, sample
    )


def _gradient_finding(
    worst: Candidate, numbers: str, evidence: tuple[str, ...], suggestions: list[Suggestion],
    run: Backward, sample: Sample,
) -> Finding:  # fmt: skip
    frame = worst.frame
    source = place_of(frame.f_code, frame.f_lasti, "backward")
    gradient = readable_tensor(worst.x)
    clips = causes.clips_at(frame)
    notes = [LATE] if sample.is_late else []
    if clips:
        notes.append(f"the program clips gradients at {clips}; these are the norms before.")
    return Finding(
        op=worst.operation,
        phase="backward",
        tensor=gradient.detach() if gradient is not None else None,
        nan=0,
        inf=0,
        source=source,
        origin=worst.origin(source),
        subject=f"gradient of {worst.name}",
        module=worst.module_name,
        suggestions=tuple(map(sentence_case, suggestions)),
        note=" ".join(notes) or None,
        frame=frame,
        filter=EXPLODING,
        headline=f"Exploding gradient in {worst.name}",
        numbers=numbers,
        evidence=evidence,
        values={"norm": worst.norm, "ratio": None},
    )


def _causes(worst: Candidate, candidates: list[Candidate], graph: Graph | None) -> list[Suggestion]:
    frame = worst.frame
    root = worst.named.root() if worst.named is not None else None
    found: list[Suggestion | None] = []
    recurrence = causes.recurrence(worst.module, worst.parameter, graph)
    if recurrence is not None:
        attribute = worst.named.attribute if worst.named is not None else ""
        edit = lower_gain(attribute, frame)
        found.append(dataclasses.replace(recurrence[1], edit=edit))
    weights = [(c.name, c.parameter) for c in candidates if c.parameter.dim() > 1]
    gains = causes.initialisation(weights) if recurrence is None else None
    spread = spread_of(worst.parameter) if gains is not None else None
    if gains is not None and spread is not None:
        edit = initial.edit_of(worst, spread, initial.HE)
        found.append(dataclasses.replace(gains[1], edit=edit))
    found.append(causes.clipping(frame, why="one batch or one long sequence can do this."))
    optimizer = optimizer_of(worst.parameter)
    found.append(
        causes.learning_rate(
            optimizer, frame, "smaller steps keep the weights where gradients are moderate."
        )
    )
    if recurrence is None and isinstance(root, nn.Module) and len(weights) >= 4:
        found.append(causes.normalisation(root, graph))
    return [suggestion for suggestion in found if suggestion is not None]


# -- updates ---------------------------------------------------------------------------------------


def moved(
    training: Training, optimizer: Any, changes: Sequence[Change], frame: types.FrameType
) -> list[Candidate]:
    """Return what an update has changed, the largest share of its weights first."""
    op = f"{type(optimizer).__name__}.step"
    found: list[Candidate] = []
    for change in changes:
        parameter = change.parameter()
        if parameter is not None and change.ratio is not None:
            found.append(
                Candidate(
                    training, parameter, parameter, "update", frame, ratio=change.ratio, op=op
                )
            )
    return sorted(found, key=lambda c: (c.parameter.dim() < 2, -(c.ratio or 0.0)))


def divergence(
    optimizer: Any, streak: Streak, changed: list[Candidate], frame: types.FrameType, step: int
) -> Finding:
    """Return the finding of updates that are larger than the weights."""
    ratios = ", ".join(f"{ratio:.3g}" for ratio in streak.ratios[-5:])
    count = len(streak.ratios)
    numbers = f"update / weight norm {ratios}"
    if count > 1:
        numbers += f" in the last {min(count, 5)} steps"
    return _too_large(optimizer, numbers, streak.ratios[-1], changed, frame, step)


def giant(
    optimizer: Any, found: Giant, changed: list[Candidate], frame: types.FrameType, step: int
) -> Finding:
    """Return the finding of one huge update after which the loss has risen far."""
    before, after = found.losses or (0.0, 0.0)
    numbers = (
        f"update / weight norm {found.ratio:.3g}, and the loss rose from {before:.3g} to "
        f"{after:.3g} after it"
    )
    finding = _too_large(optimizer, numbers, found.ratio, changed, frame, step)
    count = found.updates
    finding.note = (
        f"that was {count} {'step' if count == 1 else 'steps'} ago: what it did to the loss shows "
        f"afterwards. {finding.note or ''}"
    ).rstrip()
    return finding


def _too_large(
    optimizer: Any, numbers: str, ratio: float, changed: list[Candidate], frame: types.FrameType,
    step: int,
) -> Finding:  # fmt: skip
    rate = rate_of(optimizer)
    if rate is not None:
        numbers += f", learning rate {rate:g}"
    op = changed[0].operation
    why = (
        f"one step of {op.split('.')[0]} moves the weights {ratio:.3g} times as far as "
        "they are from zero; about 0.001 is healthy."
    )
    suggestions = [
        causes.learning_rate(optimizer, frame, why, divisor=_divisor(optimizer, ratio)),
        causes.clipping(frame, why="it bounds the step, but hides a rate that is too high.")
        if not is_adaptive(optimizer)
        else None,  # its steps do not grow with the gradient
        causes.warm_up(optimizer, step),
    ]
    finding = _update_finding(
        changed[0], changed, frame, f"Updates larger than the weights in {op}"
    )
    finding.numbers = numbers
    finding.values = {"ratio": ratio, "norm": None}
    finding.module = None
    finding.suggestions = tuple(sentence_case(s) for s in suggestions if s is not None)
    return finding


def _divisor(optimizer: Any, ratio: float) -> float:
    """Return the power of ten by which to divide the learning rate.

    Where the step does not grow with the gradient it is known how long it will be; otherwise
    large steps have made the gradients large, and a tenth is a beginning.
    """
    if not is_adaptive(optimizer):
        return 10
    return max(10.0, 10.0 ** math.ceil(math.log10(ratio / _HEALTHY)))


def over_ratio(candidate: Candidate, changed: list[Candidate], frame: types.FrameType) -> Finding:
    """Return the finding of a condition of the user's own on ``ratio``."""
    headline = f"Update of {candidate.name} in {candidate.operation}"
    finding = _update_finding(candidate, changed, frame, headline)
    finding.numbers = f"update / weight norm {candidate.ratio or 0.0:.3g}"
    return finding


def _update_finding(
    worst: Candidate, changed: list[Candidate], frame: types.FrameType, headline: str
) -> Finding:
    source = place_of(frame.f_code, frame.f_lasti, "step")
    value = readable_tensor(worst.parameter)
    return Finding(
        op=worst.operation,
        phase="update",
        tensor=value.detach() if value is not None else None,
        nan=0,
        inf=0,
        source=source,
        origin=source,
        subject=f"parameter {worst.name}",
        module=worst.module_name,
        frame=frame,
        filter=EXPLODING,
        headline=headline,
        evidence=table([c.name, f"update / weights {c.ratio or 0.0:.3g}"] for c in changed[:_ROWS]),
        values={"ratio": worst.ratio},
        note="the sizes are those of a sample of at most 1024 elements of each parameter.",
    )


def _largest(candidates: list[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda candidate: -(candidate.norm or 0.0))[:_ROWS]
