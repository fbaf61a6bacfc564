"""``zentracer.exploding``: gradients, and updates, that grow out of all proportion.

RUNS IN the training process. Three rules:

- a jump: the norm of all gradients is far above its own history;
- from the first pass on: it dwarfs the weights, and what multiplies gradients from layer to layer
  or from time step to time step is there to see;
- divergence: update after update is larger than the weights, or one is and the loss is many times
  what it was. The learning rate does that.
"""

from __future__ import annotations

import types
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Iterable

from zentracer.frameworks.base import ArmedFilter
from zentracer.frameworks.pytorch.training import exploding_words, explosion
from zentracer.frameworks.pytorch.training.builder import is_adaptive, optimizer_of, rate_of
from zentracer.frameworks.pytorch.training.candidate import Candidate
from zentracer.frameworks.pytorch.training.detector import Detector
from zentracer.frameworks.pytorch.training.divergence import Divergence, Giant
from zentracer.frameworks.pytorch.training.events import Backward, Update
from zentracer.frameworks.pytorch.training.layers import Graph, graph_of
from zentracer.frameworks.pytorch.training.norms import EARLY, Sample, candidates_of
from zentracer.frameworks.pytorch.training.ratios import Change
from zentracer.wire.filters import EXPLODING

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.hub import Training

_SUSPICIOUS = 1e3
"""Norm of all gradients below which the weights need not be looked at."""
_LOOKS = 3
"""Passes from one place after which a suspicion is given up: looking for the optimiser is slow."""


class Exploding(Detector):
    """Looks at gradient norms after each backward pass, and at what each update moved."""

    filter = EXPLODING
    wants_leaves = True

    def __init__(self, training: Training, armed: tuple[ArmedFilter, ...]) -> None:
        super().__init__(training, armed)
        self._norms = training.gradient_norms
        self._samples = self._norms.listen()
        self._looks: dict[tuple[int, ...], int] = {}
        self._divergence = Divergence()
        self._measures = False
        """Whether the update that is being made is measured."""
        self._arrived: deque[Callable[[Update], None]] = deque(maxlen=64)
        """What to do with losses and changes, in the order they were made in."""

    def close(self) -> None:
        """Forget everything."""
        self._norms.unlisten(self._samples)
        self._looks.clear()
        self._divergence.forget()
        self._arrived.clear()

    # -- gradients ---------------------------------------------------------------------------------

    def backward_starts(self, run: Backward) -> None:
        """Note the loss, as long as the first updates are made."""
        if not self.adaptive or not run.accumulates or not self._divergence.wants_losses:
            return
        loss = self.training.watch.steps.loss_of(run.roots)
        if loss is not None and loss.value is not None:
            self._note_loss(run.site, loss.value)
        elif loss is not None and loss.copy is not None:
            site = run.site
            self.training.readout.read(
                loss.copy.reshape(1), lambda found: self._note_loss(site, found[0])
            )

    def _note_loss(self, site: tuple[int, ...], value: float) -> None:
        self._arrived.append(lambda _: self._divergence.loss(site, value))

    def backward_ended(self, run: Backward) -> None:
        """Judge the gradients that have arrived."""
        if not self.adaptive and all("ratio" in names_of(armed) for armed in self.armed):
            return
        self._norms.take(run)
        self._norms.say_if_blind(self, run)
        while self._samples:
            sample = self._samples.popleft()
            if run.frame is not None:
                self._judge(sample, run)

    def _judge(self, sample: Sample, run: Backward) -> None:
        candidates: list[Candidate] | None = None
        custom = [armed for armed in self.custom if "ratio" not in names_of(armed)]
        if custom:
            candidates = candidates_of(self.training, sample, run)
            self._ask(custom, candidates, sample, run)
        if not self.adaptive:
            return
        series = self._norms.series[sample.site]
        factor = explosion.jump(series, sample.total)
        if factor is not None:
            candidates = candidates or candidates_of(self.training, sample, run)
            worst = explosion.worst_of(candidates, series, sample.total)
            if self._is_wanted(worst):
                self._tell_jump(worst, factor, candidates, sample, run)
        elif len(series.totals) < EARLY and sample.total > _SUSPICIOUS:
            candidates = candidates or candidates_of(self.training, sample, run)
            start = self._start(candidates, sample, run)
            if start is not None and self._is_wanted(start.worst):
                self._tell_start(start, candidates, sample, run)

    def _ask(
        self, custom: list[ArmedFilter], candidates: list[Candidate], sample: Sample, run: Backward
    ) -> None:
        """Stop once for all conditions that hold, at the largest gradient."""
        ranked = sorted(candidates, key=lambda candidate: -(candidate.norm or 0.0))
        for armed in custom:
            for candidate in ranked:
                if self.training.holds(armed, candidate.value_of):
                    finding = exploding_words.over_threshold(candidate, ranked, sample, run)
                    self.training.stop((armed,), finding, candidate.frame)
                    break

    def _start(
        self, candidates: list[Candidate], sample: Sample, run: Backward
    ) -> explosion.Start | None:
        looks = self._looks[sample.site] = self._looks.get(sample.site, 0) + 1
        if looks > _LOOKS:
            return None
        share = explosion.share_of_weights(candidates)
        if share < explosion.START:
            return None
        if share < explosion.START_UNKNOWN:
            largest = max(candidates, key=lambda candidate: candidate.norm or 0.0)
            optimizer = optimizer_of(largest.parameter)
            if optimizer is None or is_adaptive(optimizer):
                return None
            if share * (rate_of(optimizer, largest.parameter) or 0.0) < 1:
                return None
        return explosion.multiplier(candidates, share, self._graph(sample, run))

    def _graph(self, sample: Sample, run: Backward) -> Graph | None:
        return graph_of(run.roots) if run.site == sample.site else None

    def _tell_jump(
        self, worst: Candidate, factor: float, candidates: list[Candidate], sample: Sample,
        run: Backward,
    ) -> None:  # fmt: skip
        series = self._norms.series[sample.site]
        graph = self._graph(sample, run)
        finding = exploding_words.jump(worst, factor, series, candidates, sample, run, graph)
        self.training.stop(self._wanted(worst), finding, worst.frame)

    def _tell_start(
        self, start: explosion.Start, candidates: list[Candidate], sample: Sample, run: Backward
    ) -> None:
        finding = exploding_words.start(start, candidates, sample, run, self._graph(sample, run))
        self.training.stop(self._wanted(start.worst), finding, start.worst.frame)

    # -- updates -----------------------------------------------------------------------------------

    def update_starts(self, update: Update) -> None:
        """Note where the parameters are."""
        self._norms.updated(update)
        self._measures = bool(self.adaptive) and self._divergence.measures(
            update.optimizer, self._norms.last_total
        )
        if self._measures or self._asks_for_ratios:
            self.training.ratios.starts(update)

    def update_ended(self, update: Update) -> None:
        """Judge how far the parameters went."""
        if self._measures or self._asks_for_ratios:
            owner = weakref.ref(update.optimizer)
            self.training.ratios.ended(update, lambda changes: self._note_changes(owner, changes))
        while self._arrived:
            self._arrived.popleft()(update)

    def _note_changes(self, owner: weakref.ref[Any], changes: list[Change]) -> None:
        def judge(update: Update) -> None:
            optimizer = owner()
            if optimizer is not None and update.frame is not None:
                self._judge_update(optimizer, changes, update)

        self._arrived.append(judge)

    @property
    def _asks_for_ratios(self) -> bool:
        return any("ratio" in names_of(armed) for armed in self.armed)

    def _judge_update(self, optimizer: Any, changes: list[Change], update: Update) -> None:
        frame = update.frame
        assert frame is not None
        is_late = optimizer is not update.optimizer
        custom = [armed for armed in self.custom if "ratio" in names_of(armed)]
        streak = self._divergence.diverges(optimizer, changes)
        giant = self._divergence.giant(optimizer, changes) if streak is None else None
        if not custom and streak is None and giant is None:
            return
        moved = exploding_words.moved(self.training, optimizer, changes, frame)
        for armed in custom:
            for candidate in moved:
                if self.training.holds(armed, candidate.value_of):
                    finding = exploding_words.over_ratio(candidate, moved, frame)
                    self.training.stop((armed,), finding, frame)
                    break
        if streak is not None and moved and not is_late and self._is_wanted(moved[0]):
            finding = exploding_words.divergence(
                optimizer, streak, moved, frame, self.training.watch.step or 0
            )
            self.training.stop(self._wanted(moved[0]), finding, frame)
        elif giant is not None:
            self._tell_giant(giant, optimizer, frame)

    def _tell_giant(self, giant: Giant, optimizer: Any, frame: types.FrameType) -> None:
        moved = exploding_words.moved(self.training, optimizer, giant.changes, frame)
        if moved and self._is_wanted(moved[0]):
            step = self.training.watch.step or 0
            finding = exploding_words.giant(optimizer, giant, moved, frame, step)
            self.training.stop(self._wanted(moved[0]), finding, frame)

    # -- conditions --------------------------------------------------------------------------------

    def _wanted(self, candidate: Candidate) -> Iterable[ArmedFilter]:
        holds = self.training.holds
        return tuple(armed for armed in self.adaptive if holds(armed, candidate.value_of))

    def _is_wanted(self, candidate: Candidate) -> bool:
        """Tell whether to stop: a condition holds, and this is not what was told a moment ago.

        One cause shows as a jump of the gradients and as updates that are too large.
        """
        return bool(self._wanted(candidate)) and self.training.is_fresh(self.filter.id)


def names_of(armed: ArmedFilter) -> frozenset[str]:
    """Return the names that a condition uses."""
    return armed.condition.names if armed.condition is not None else frozenset()
