"""One look at a watched value, and in words how it differs from the look before.

RUNS IN the user's training process.
"""

from __future__ import annotations

import numbers
import sys
import weakref
from dataclasses import dataclass
from typing import Any, Callable, Optional, Tuple

from zentracer.observe.facts import Facts
from zentracer.observe.kinds import TORCH, array_kind
from zentracer.observe.quiet import quiet
from zentracer.observe.stats import facts_of
from zentracer.present.arrays import scalar_text, shape_text
from zentracer.present.numbers import plural, scalar
from zentracer.watches.clock import Moment
from zentracer.watches.history import Point, of_moments, of_number
from zentracer.watches.sample import Difference, Sample, difference, sample_of

_LARGEST = 1 << 1000
"""Whole numbers beyond have no place in a chart, and printing them takes long."""
_COUNTED = ("bool", "int", "uint")
"""Types whose elements are told by how many changed: labels, masks, counts."""


@dataclass
class Seen:
    """What is kept of a value: never the value itself."""

    when: Moment
    what: str
    """``float32[64, 32]``, or ``number``."""
    shape: Optional[Tuple[Any, ...]] = None
    dtype: str = ""
    text: Optional[str] = None
    """A single number as it reads."""
    sample: Optional[Sample] = None
    alive: Callable[[], Any] = lambda: None
    """The array itself, while it lives."""
    version: Optional[int] = None
    """Times that a tensor had been written to."""
    point: Optional[Point] = None


def is_watchable(value: Any) -> bool:
    """Whether changes of such a value are told."""
    return bool(array_kind(type(value))) or _is_number(value)


def look(value: Any, when: Moment, *, waits: bool = False) -> Seen:
    """Take note of ``value``; ``waits`` also if that takes waiting for an accelerator."""
    if _is_number(value):
        return Seen(when, "number", text=_number_text(value), point=of_number(when, _size(value)))
    facts = facts_of(value)
    sample = sample_of(facts, waits=waits)
    return Seen(
        when,
        f"{facts.dtype}{shape_text(facts.shape or ())}",
        facts.shape,
        facts.dtype,
        scalar_text(facts) if _is_single(facts, sample) else None,
        sample,
        _weakly(value),
        _version(value),
        of_moments(when, sample.moments) if sample is not None else None,
    )


def point_of(value: Any, when: Moment) -> Optional[Point]:
    """The point of a value, None if it is no number and cannot be read at once."""
    if _is_number(value):
        return of_number(when, _size(value))
    sample = sample_of(facts_of(value)) if array_kind(type(value)) else None
    return of_moments(when, sample.moments) if sample is not None else None


def change_text(before: Seen, now: Seen) -> str:
    """What changed, with a separator in front; empty if that is not known."""
    if before.what != now.what:
        if before.dtype == now.dtype and before.shape is not None:
            return f" · new shape, was {shape_text(before.shape)}"
        was = before.text if before.what == "number" else before.what
        return f" · was {was} ({_then(before, now)})"
    if None not in (before.text, now.text) and before.text != now.text:
        return f" · was {before.text} ({_then(before, now)})"
    if now.what == "number":
        return " · unchanged"
    if before.sample is None or now.sample is None:
        return _written_text(before, now)
    if len(before.sample.numbers) != len(now.sample.numbers):
        return ""  # a layout whose sample is of another size, such as another sparsity
    found = difference(before.sample, now.sample)
    mark = " ·~ " if now.sample.is_part else " · "
    if not found.moved:
        return f"{mark}unchanged"
    return f"{mark}{_amount(found, now)} since {_then(before, now)}"


def _amount(found: Difference, now: Seen) -> str:
    if now.dtype.startswith(_COUNTED):
        if now.sample is not None and now.sample.is_part:
            return f"{percent(found.moved / found.of)} of the elements changed"
        return f"{found.moved:,} of {plural(found.of, 'element')} changed"
    lost = f"{plural(found.lost, 'more element')} NaN or Inf" if found.lost else ""
    if found.relative is None:
        return lost or f"{found.moved:,} of {plural(found.of, 'element')} changed from 0"
    if not found.relative:
        return lost or f"{plural(found.moved, 'element')} changed"
    return f"Δ {percent(found.relative)}{', ' if lost else ''}{lost}"


def percent(share: float) -> str:
    """``0.31%``, ``12%``; beyond ten times, ``31x``."""
    if share >= 10:
        return f"{share:.3g}x"
    return f"{100 * share:.2g}%" if share < 0.1 else f"{100 * share:.3g}%"


def _is_single(facts: Facts, sample: Optional[Sample]) -> bool:
    return facts.size == 1 and sample is not None and facts.data.shape == facts.shape


def _written_text(before: Seen, now: Seen) -> str:
    """What is known of a tensor on a device without waiting for it."""
    if before.version is None or now.version is None or before.alive() is not now.alive():
        return ""
    if before.version == now.version:
        return ""
    return f" · written to since {_then(before, now)}"


def _then(before: Seen, now: Seen) -> str:
    """When the value was as it was, in the coarsest terms that tell the two moments apart."""
    was, is_ = before.when, now.when
    if was.step is not None and was.step != is_.step:
        return f"step {was.step}"
    return f"line {was.line}" if was.line != is_.line else f"stop {was.stop}"


def _is_number(value: Any) -> bool:
    if type(value) is int:
        return -_LARGEST < value < _LARGEST
    return type(value) in (bool, float, complex) or _is_numpy_number(value)


def _is_numpy_number(value: Any) -> bool:
    numpy: Any = sys.modules.get("numpy")
    return hasattr(numpy, "bool_") and isinstance(value, (numpy.number, numpy.bool_))


def _number_text(value: Any) -> str:
    if _is_numpy_number(value):
        return scalar(value.item(), str(value.dtype))
    return repr(value)


def _size(value: Any) -> float:
    """What a chart shows of a number: the magnitude of a complex one."""
    return float(abs(value) if isinstance(value, numbers.Complex) and value.imag else value.real)


def _weakly(value: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(value)
    except TypeError:  # a type that cannot be referred to weakly
        return lambda: None


def _version(value: Any) -> Optional[int]:
    if array_kind(type(value)) != TORCH:
        return None
    try:
        with quiet():
            return value._version
    except Exception:  # a tensor made under inference mode does not count
        return None
