"""The object behind ``zt``; its members are what the user sees, so each says what it does.

RUNS IN the user's training process.
"""

from __future__ import annotations

from types import FrameType
from typing import Any, Dict, Optional, Union

from zentracer.progress import Progress, progress
from zentracer.zt import arrays, changes, models, process
from zentracer.zt.shown import Histogram, Summary


class Helper:
    """Looks at tensors, models and the run: zt.has_nan(x), zt.norm(x), zt.module("encoder.3").

    Where a tensor is asked for, a NumPy array, a number, a module (its parameters) and a list,
    tuple, dict or generator of these do, too. Statistics are over the finite elements.
    """

    __slots__ = ("_changes", "_expression", "_frame")

    def __init__(self, frame: Optional[FrameType], expression: str) -> None:
        self._frame = frame
        self._expression = expression
        self._changes = 0

    def __repr__(self) -> str:
        now = self._now
        parts = [
            f"{name} {value:.6g}"
            for name, value in (("step", now.step), ("epoch", now.epoch), ("loss", now.loss))
            if value is not None
        ]
        return " · ".join(["zt", *parts, "zt.has_nan(x), zt.norm(x), zt.stats(x), …"])

    def has_nan(self, x: Any) -> bool:
        """Whether x has a NaN."""
        return arrays.moments("has_nan", x, buffers=True).nan > 0

    def has_inf(self, x: Any) -> bool:
        """Whether x has an infinite element."""
        return arrays.moments("has_inf", x, buffers=True).inf > 0

    def nan(self, x: Any) -> int:
        """How many NaN x has."""
        return arrays.moments("nan", x, buffers=True).nan

    def inf(self, x: Any) -> int:
        """How many infinite elements x has."""
        return arrays.moments("inf", x, buffers=True).inf

    def zeros(self, x: Any) -> int:
        """How many elements of x are zero."""
        return arrays.moments("zeros", x).zeros

    def norm(self, x: Any) -> float:
        """Euclidean norm of x."""
        return arrays.moments("norm", x).norm

    def absmax(self, x: Any) -> float:
        """Largest magnitude in x; NaN if no element is finite."""
        return arrays.bound("absmax", x)

    def min(self, x: Any) -> float:
        """Smallest element of x; NaN if no element is finite."""
        return arrays.bound("min", x)

    def max(self, x: Any) -> float:
        """Largest element of x; NaN if no element is finite."""
        return arrays.bound("max", x)

    def mean(self, x: Any) -> float:
        """Mean of x; NaN if no element is finite."""
        return arrays.bound("mean", x)

    def std(self, x: Any) -> float:
        """Standard deviation of x (divided by n - 1, as torch.std); NaN below two elements."""
        return arrays.bound("std", x)

    def stats(self, x: Any) -> Summary:
        """All statistics of x in one line; .min .max .mean .std .norm .nan .inf .zeros of it."""
        return Summary(x)

    def hist(self, x: Any, bins: int = 20) -> Histogram:
        """Histogram of x in one line; .counts and .edges of it."""
        return Histogram(x, bins)

    def changed(self, x: Any, threshold: Optional[float] = None) -> Union[bool, float]:
        """How far x is from what it was when this expression was evaluated on this line before.

        Norm of the difference over the norm of the earlier value: 0 if nothing changed and at the
        first evaluation, inf if the shape or the place of a NaN changed. With a threshold, whether
        the change is over it: zt.changed(x, 0.02). Of over 262,144 elements a sample is compared.
        """
        self._changes += 1
        change = changes.since_last(x, (self._place, self._changes))
        return change if threshold is None else change > threshold

    def grad_norm(self, x: Any) -> float:
        """Norm of all gradients of a module, an optimiser, a parameter or a list of these.

        0 if there are none; NaN or inf if one of them is, as torch.nn.utils.clip_grad_norm_ says.
        """
        return models.grad_norm(x)

    def module(self, name: str) -> Any:
        """The live module with this name, as in named_modules(): zt.module("encoder.3")."""
        return models.module(name)

    def modules(self, pattern: str = "*") -> Dict[str, Any]:
        """The live modules whose names fit a pattern, by name: zt.modules("encoder.*")."""
        return models.modules(pattern)

    def param(self, name: str) -> Any:
        """The live parameter or buffer with this name: zt.param("encoder.3.weight")."""
        return models.param(name)

    def equal(self, a: Any, b: Any) -> bool:
        """Whether a and b have the same shape and elements; NaN equals NaN."""
        return arrays.equal(a, b)

    def close(self, a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
        """Whether a and b are equal up to atol + rtol * |b|; NaN is close to NaN."""
        return arrays.close(a, b, rtol, atol)

    def memory(self) -> process.Memory:
        """Memory of this process and of its accelerators, in bytes; reads as one line."""
        return process.Memory()

    @property
    def step(self) -> Optional[int]:
        """Training steps completed; None while nothing is armed that counts steps."""
        return self._now.step

    @property
    def epoch(self) -> Optional[int]:
        """Number of the pass over the data, from 0; None where none is known."""
        return self._now.epoch

    @property
    def loss(self) -> Optional[float]:
        """Last loss that backward() was called on; None while nothing is armed that reads it."""
        return self._now.loss

    @property
    def rank(self) -> Optional[int]:
        """Rank of this process; None outside a distributed run."""
        return process.rank()

    @property
    def _now(self) -> Progress:
        return progress(self._frame)

    @property
    def _place(self) -> changes.Place:
        frame = self._frame
        if frame is None:
            return ("", 0, self._expression)
        return (frame.f_code.co_filename, frame.f_lineno, self._expression)
