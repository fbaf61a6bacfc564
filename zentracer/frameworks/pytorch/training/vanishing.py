"""``zentracer.vanishing``: gradients that are lost on the way to the first layers.

RUNS IN the training process. Gradients that are exactly zero have other causes, and filters.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from zentracer.frameworks.base import ArmedFilter
from zentracer.frameworks.pytorch.training import depth, vanishing_words
from zentracer.frameworks.pytorch.training.candidate import Candidate
from zentracer.frameworks.pytorch.training.detector import Detector
from zentracer.frameworks.pytorch.training.events import Backward, Update
from zentracer.frameworks.pytorch.training.layers import graph_of
from zentracer.frameworks.pytorch.training.norms import Sample, candidates_of
from zentracer.wire.filters import VANISHING

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.hub import Training


class Vanishing(Detector):
    """Compares the gradients of the layers after each backward pass."""

    filter = VANISHING
    wants_leaves = True

    def __init__(self, training: Training, armed: tuple[ArmedFilter, ...]) -> None:
        super().__init__(training, armed)
        self._norms = training.gradient_norms
        self._samples = self._norms.listen()
        self._passes: dict[tuple[int, ...], int] = {}
        """Passes in a row with a small share, by the place that calls backward."""

    def close(self) -> None:
        """Forget everything."""
        self._norms.unlisten(self._samples)
        self._passes.clear()

    def update_starts(self, update: Update) -> None:
        """Note that gradients do not add up any longer."""
        self._norms.updated(update)

    def backward_ended(self, run: Backward) -> None:
        """Judge the gradients that have arrived."""
        self._norms.take(run)
        self._norms.say_if_blind(self, run)
        while self._samples:
            sample = self._samples.popleft()
            if run.frame is not None and run.site == sample.site:  # else this graph is another's
                self._judge(sample, run)

    def _judge(self, sample: Sample, run: Backward) -> None:
        if self.custom:
            self._ask(candidates_of(self.training, sample, run), sample, run)
        if not self.adaptive:
            return
        fall = self._fall(sample, run) if _may_vanish(sample) else None
        if fall is None or fall.share > depth.SHARE:
            self._passes.pop(sample.site, None)
            return
        count = self._passes[sample.site] = self._passes.get(sample.site, 0) + 1
        if count < depth.STEPS and (fall.share > depth.SHARE_AT_ONCE or fall.is_even):
            return
        holds = self.training.holds
        wanted = tuple(armed for armed in self.adaptive if holds(armed, fall.worst.value_of))
        if wanted and self.training.is_fresh((self.filter.id, sample.site)):
            finding = vanishing_words.fall(fall, sample, run, count)
            self.training.stop(wanted, finding, fall.worst.frame)

    def _fall(self, sample: Sample, run: Backward) -> depth.Fall | None:
        return depth.fall_of(candidates_of(self.training, sample, run), graph_of(run.roots))

    def _ask(self, candidates: list[Candidate], sample: Sample, run: Backward) -> None:
        """Stop once for all conditions that hold, at the smallest gradient."""
        ranked = sorted(candidates, key=lambda candidate: candidate.norm or 0.0)
        for armed in self.custom:
            for candidate in ranked:
                if self.training.holds(armed, candidate.value_of):
                    finding = vanishing_words.below_threshold(candidate, ranked, sample, run)
                    self.training.stop((armed,), finding, candidate.frame)
                    break


def _may_vanish(sample: Sample) -> bool:
    """Tell whether some gradient is small next to another, without asking where they are."""
    largest, smallest = 0.0, math.inf
    for reference, norm in zip(sample.parameters, sample.norms):
        if norm:
            parameter = reference()
            size = depth.size_of(norm, parameter.numel()) if parameter is not None else 0.0
            largest = max(largest, size)
            smallest = min(smallest, size) if size else smallest
    return smallest < depth.SHARE * largest
