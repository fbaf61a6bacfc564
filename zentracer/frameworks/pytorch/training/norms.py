"""Gradient norms after each backward pass, computed once for all detectors, and their history.

RUNS IN the training process. What is kept are floats and weak references.

Gradients may add up over several backward passes before an update. The history is of the last pass
before each update, so that it compares like with like; every pass can be judged against it.
"""

from __future__ import annotations

import functools
import math
import statistics
import weakref
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Sequence

import torch
from torch import Tensor

from zentracer.control.source import place_of
from zentracer.frameworks.pytorch.finite import readable_tensor
from zentracer.frameworks.pytorch.report import place_name
from zentracer.frameworks.pytorch.training.candidate import Candidate
from zentracer.frameworks.pytorch.training.events import Backward, Update

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.detector import Detector
    from zentracer.frameworks.pytorch.training.hub import Training

WINDOW = 64
"""Updates that the history of one place holds."""
EARLY = 20
"""Updates at the beginning that show what is ordinary for a model; a history needs as many."""
_MAX_SITES = 64
_MAX_QUEUE = 8
_OVERFLOW = 1e10
"""An infinite gradient next to one of at least this norm has overflowed; else something divided."""
_BLIND = 3
"""Passes in a row without any gradient after which nothing can be known."""
_foreach_norm: Any = torch._foreach_norm  # type: ignore[attr-defined]
_is_wrapped: Any = torch._C._functorch.is_functorch_wrapped_tensor  # type: ignore[attr-defined]
_HALVES = frozenset({torch.float16, torch.bfloat16})


@dataclass(frozen=True)
class Sample:
    """The gradient norms of one backward pass."""

    site: tuple[int, ...]
    parameters: tuple[weakref.ref[Tensor], ...]
    """Leaves with a gradient; those nearest to the loss come first."""
    norms: tuple[float, ...]
    """Euclidean norm of each one's gradient, without the factor of a gradient scaler."""
    window: int | None
    """Updates begun before; None if no optimiser was seen."""
    is_late: bool
    """Whether they were read from a device, after the program had gone on."""

    @functools.cached_property
    def total(self) -> float:
        """The norm of all gradients together."""
        return math.hypot(*self.norms)


@dataclass
class Series:
    """What came before, from one place that calls backward."""

    samples: deque[Sample] = field(default_factory=lambda: deque(maxlen=WINDOW))
    totals: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW))
    early: list[float] = field(default_factory=list)
    """The first totals."""
    pending: Sample | None = None
    """The last pass, until it is known to be the last before an update."""

    def add(self, sample: Sample) -> None:
        """Take a new pass in; the one before becomes history if an update lies between."""
        before, self.pending = self.pending, sample
        if before is None or (before.window is not None and before.window == sample.window):
            return
        total = before.total
        if not total:  # a loss that is satisfied says nothing on what is ordinary
            return
        self.samples.append(before)
        self.totals.append(total)
        if len(self.early) < EARLY:
            self.early.append(total)

    def median_of(self, parameter: Tensor) -> float | None:
        """Return the median norm of one parameter's gradient; None if it had none."""
        past: list[float] = []
        for sample in self.samples:
            for reference, norm in zip(sample.parameters, sample.norms):
                if reference() is parameter:
                    past.append(norm)
                    break
        return statistics.median(past) if past else None


class GradientNorms:
    """The norms of all places that call backward."""

    def __init__(self, training: Training) -> None:
        self._training = training
        self.series: dict[tuple[int, ...], Series] = {}
        self._queues: list[deque[Sample]] = []
        self._updates: int | None = None
        self._last_update: Callable[[], Update | None] = lambda: None
        self._blind = 0
        self.last_total = 0.0
        """The norm of all gradients of the last pass, wherever it was."""

    def listen(self) -> deque[Sample]:
        """Return where each new sample will be put."""
        queue: deque[Sample] = deque(maxlen=_MAX_QUEUE)
        self._queues.append(queue)
        return queue

    def unlisten(self, queue: deque[Sample]) -> None:
        """Serve a queue no longer."""
        self._queues = [other for other in self._queues if other is not queue]
        if not self._queues:
            self.forget()

    def forget(self) -> None:
        """Drop the history."""
        self.series.clear()
        self._updates = None
        self._blind = 0

    def say_if_blind(self, detector: Detector, run: Backward) -> None:
        """Say once that backward leaves no gradients behind, so that nothing can be known."""
        if self._blind != _BLIND or run.frame is None:
            return
        at = place_name(place_of(run.frame.f_code, run.frame.f_lasti).location)
        for armed in detector.armed:
            self._training.watch.host.notice(
                f"'{detector.filter.label}' cannot look: no parameter has a gradient after the "
                f"backward pass at {at}, or none that can be read. Hooks that take them away at "
                "once (an optimiser inside backward) and gradients spread over processes do that.",
                armed.id,
            )

    def updated(self, update: Update) -> None:
        """An optimiser is about to take a step; told by each detector."""
        if self._last_update() is not update:
            self._last_update = weakref.ref(update)
            self._updates = (self._updates or 0) + 1

    def take(self, run: Backward) -> None:
        """Compute the norms of what ``run`` reached, unless another detector has."""
        if GradientNorms in run.shared:
            return
        run.shared[GradientNorms] = True
        pairs = _gradients(run)
        if not pairs:
            self._blind += bool(run.accumulates and run.leaves)
            return
        self._blind = 0
        _Reading(self, run, pairs).start()

    def arrived(self, sample: Sample) -> None:
        """Put a sample into the history and before the detectors."""
        series = self.series.get(sample.site)
        if series is None:
            if len(self.series) >= _MAX_SITES:
                self.series.pop(next(iter(self.series)))
            series = self.series[sample.site] = Series()
        series.add(sample)
        self.last_total = sample.total
        for queue in self._queues:
            queue.append(sample)

    @property
    def window(self) -> int | None:
        """How many updates have begun."""
        return self._updates

    @property
    def training(self) -> Training:
        """Whose gradients these are."""
        return self._training


class _Reading:
    """The norms of one pass on their way from one or several devices."""

    def __init__(self, norms: GradientNorms, run: Backward, pairs: list[tuple[Tensor, Tensor]]):
        # Nothing here may hold ``run``: it holds the graph.
        self._norms = norms
        self._site = run.site
        self._window = norms.window
        self._scale = run.scale
        self._pairs = pairs
        self._found: dict[int, float] = {}
        self._waiting = 0
        self._is_late = False
        self._references = tuple(weakref.ref(parameter) for parameter, _ in pairs)

    def start(self) -> None:
        """Compute everything, and have it read."""
        training = self._norms.training
        groups: dict[Any, list[int]] = {}
        for index, (_, gradient) in enumerate(self._pairs):
            groups.setdefault((gradient.device, gradient.dtype), []).append(index)
        scale = _scale_on_device(training.watch.scaler)
        self._waiting = len(groups)
        gradients = [gradient for _, gradient in self._pairs]
        self._is_late = any(training.watch.defers(gradient) for gradient in gradients[:1])
        if self._is_late:
            self._pairs = []  # the program must be free to drop them
        for indices in groups.values():
            chosen = [gradients[index] for index in indices]
            numbers = torch.stack(norms_of(chosen)).double()
            if scale is not None and scale.device == numbers.device:
                numbers = numbers / scale.double()
            training.readout.read(numbers, lambda found, at=indices: self._take(at, found))

    def _take(self, indices: Sequence[int], found: list[float]) -> None:
        self._found.update(zip(indices, found))
        self._waiting -= 1
        if self._waiting:
            return
        norms = [self._found[index] for index in range(len(self._found))]
        norms = self._precise(norms)
        watch = self._norms.training.watch
        scaled = watch.scaler is not None and watch.scaler() is not None
        largest = max((norm for norm in norms if math.isfinite(norm)), default=0.0)
        if any(map(math.isnan, norms)):
            return  # another filter's business
        if math.inf in norms and (scaled or largest < _OVERFLOW):
            return  # the scaler searches its factor, or something divided by zero
        scale = self._scale
        self._norms.arrived(
            Sample(
                self._site,
                self._references,
                tuple(norm / scale for norm in norms),
                self._window,
                self._is_late,
            )
        )

    def _precise(self, norms: list[float]) -> list[float]:
        """Compute anew what has overflowed on the way: squares of float32 end at 1e38."""
        if not self._pairs or math.inf not in norms:
            return norms
        return [
            norm if norm != math.inf else float(torch.linalg.vector_norm(gradient.double()))
            for norm, (_, gradient) in zip(norms, self._pairs)
        ]


def candidates_of(training: Training, sample: Sample, run: Backward) -> list[Candidate]:
    """Return the parameters of ``sample`` that are still alive, as conditions see them."""
    assert run.frame is not None
    given = {} if run.accumulates else dict(zip(map(id, run.inputs), run.result or ()))
    found: list[Candidate] = []
    for reference, norm in zip(sample.parameters, sample.norms):
        parameter = reference()
        if parameter is not None:
            x = readable_gradient(given.get(id(parameter), parameter.grad))
            found.append(Candidate(training, parameter, x, "backward", run.frame, norm))
    return found


def norms_of(tensors: list[Tensor]) -> list[Tensor]:
    """Return the Euclidean norm of each of ``tensors``, all of one device and type."""
    if tensors[0].dtype in _HALVES:  # a norm of float16 would end at 65504
        return [torch.linalg.vector_norm(x, dtype=torch.float32) for x in tensors]
    return list(_foreach_norm(tensors))


def _gradients(run: Backward) -> list[tuple[Tensor, Tensor]]:
    """Return each leaf with the gradient that ``run`` has left, as far as it can be read."""
    if run.accumulates:
        leaves = run.inputs or run.leaves
        found = [(leaf, leaf.grad) for leaf in leaves if isinstance(leaf, Tensor) and leaf.is_leaf]
    else:
        result = run.result if isinstance(run.result, (tuple, list)) else ()
        found = [
            (leaf, gradient)
            for leaf, gradient in zip(run.inputs, result)
            if isinstance(leaf, torch.nn.Parameter)
        ]
    pairs = ((leaf, readable_gradient(gradient)) for leaf, gradient in found)
    return [(leaf, gradient) for leaf, gradient in pairs if gradient is not None]


def readable_gradient(gradient: Any) -> Tensor | None:
    """Return a gradient as a plain tensor: of a sparse one its values, of a complex one as it is.

    None where there is none, or where a subclass of its own or another process holds it.
    """
    if type(gradient) is not Tensor or gradient.is_meta:
        return None
    if gradient.dtype is torch.float32 and gradient.layout is torch.strided:  # nearly all are
        plain = gradient if not _is_wrapped(gradient) and gradient.numel() else None
        return plain.detach() if plain is not None and plain.requires_grad else plain
    if gradient.layout is torch.sparse_coo:
        gradient = gradient._values()
    if gradient.is_complex():
        return gradient.detach() if gradient.numel() else None
    plain = readable_tensor(gradient)
    return plain.detach() if plain is not None and plain is gradient else None


def _scale_on_device(scaler: Any) -> Tensor | None:
    """Return the factor of a gradient scaler where it cannot be read without waiting."""
    scale = getattr(scaler() if scaler is not None else None, "_scale", None)
    return scale if isinstance(scale, Tensor) and not scale.is_cpu else None
