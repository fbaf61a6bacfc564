"""The one-line summary of tensors and arrays.

RUNS IN the user's training process. Example::

    float32[3, 8] cpu · x∈[-3.79, 0.063] μ=-1.14 σ=1.2 · NaN 7 · grad LogBackward0
"""

from __future__ import annotations

from typing import Any, List

from zentracer.observe.facts import Facts
from zentracer.observe.kinds import TORCH, array_kind
from zentracer.observe.moments import Moments
from zentracer.observe.numpy_facts import numpy_facts
from zentracer.observe.quiet import quiet
from zentracer.observe.stats import ROW_LIMIT, Look, look
from zentracer.observe.torch_facts import special_type, torch_facts
from zentracer.present.numbers import bound, scalar, short


def summarise_array(array: Any) -> str:
    """The summary line; never raises, never reads more than a bounded part of the data."""
    with quiet():
        seen = look(array, limit=ROW_LIMIT)
        text = head(seen.facts)
        for note in seen.facts.notes:
            text += f" · {note}"
        text += _statistics(seen)
        for relation in relations(array):
            text += f" · {relation}"
    return text


def brief(array: Any) -> str:
    """``float32[3, 8]``: how an array reads inside a list; metadata only, never raises."""
    try:
        if array_kind(type(array)) == TORCH:
            with quiet():
                facts = torch_facts(array)
        else:
            facts = numpy_facts(array)
    except Exception:  # a broken tensor type: its name is all there is to say
        return f"<{type(array).__name__}>"
    text = head(facts)
    return text[: -len(" cpu")] if text.endswith(" cpu") else text


def head(facts: Facts) -> str:
    """dtype, shape and device."""
    if facts.shape is None:
        return f"{facts.dtype} {facts.device}"
    return f"{facts.dtype}{shape_text(facts.shape)} {facts.device}"


def shape_text(shape: Any) -> str:
    """``[3, 8]``."""
    return f"[{', '.join([str(size) for size in shape])}]"


def _statistics(seen: Look) -> str:
    facts, moments = seen
    if moments is None:
        return f" · {facts.why}" if facts.why else ""
    total = moments.count + moments.nan + moments.inf
    if total == 0:
        return " · empty"
    if total == 1 and facts.size == 1:
        return f" · {scalar_text(facts)}"
    text = _range_text(facts, moments)
    mark = " ·~ " if moments.sampled else " · "
    at_least = "≥" if moments.sampled else ""
    if moments.nan:
        text += f"{mark if not text else ' · '}NaN {at_least}{moments.nan}"
    if moments.inf:
        text += f"{mark if not text else ' · '}Inf {at_least}{moments.inf}"
    return text


def _range_text(facts: Facts, moments: Moments) -> str:
    if not moments.count:
        return ""
    mark = " ·~ " if moments.sampled else " · "
    if facts.dtype == "bool":
        if moments.sampled:
            return f"{mark}True {moments.mean:.1%}"
        return f"{mark}True {round(moments.mean * moments.count)} of {moments.count}"
    name = "|x|" if facts.dtype.startswith("complex") else "x"
    low, high = bound(moments.min, facts.dtype), bound(moments.max, facts.dtype)
    spread = f" σ={short(moments.std)}" if moments.std is not None else ""
    return f"{mark}{name}∈[{low}, {high}] μ={short(moments.mean)}{spread}"


def scalar_text(facts: Facts) -> str:
    """The only element of an array that may be read."""
    data = facts.data
    if array_kind(type(data)) != TORCH:
        return scalar(data.reshape(-1).tolist()[0], facts.dtype)
    with quiet():
        if data.is_quantized:
            data = data.dequantize()
        return scalar(data.reshape(-1)[0].item(), facts.dtype)


def relations(array: Any) -> List[str]:
    """``grad LogBackward0``, ``leaf``, ``view of float32[8, 8]``, where they apply."""
    if array_kind(type(array)) != TORCH:
        return _numpy_relations(array)
    found: List[str] = []
    try:
        with quiet():
            if array.requires_grad:
                node = array.grad_fn
                found.append("leaf" if node is None else f"grad {type(node).__name__}")
            if not special_type(type(array)) and array._is_view():
                found.append(f"view of {brief(array._base)}")
    except Exception:  # a broken tensor type may raise anything; its line then says less
        return found
    return found


def _numpy_relations(array: Any) -> List[str]:
    base = array.base
    if base is None or not array_kind(type(base)):
        return []
    return [f"view of {brief(base)}"]
