"""The children of a tensor or an array, in the order of the contract.

RUNS IN the user's training process.
"""

from __future__ import annotations

from typing import Any, List, Optional

from zentracer.observe.facts import Facts
from zentracer.observe.histogram import Histogram, histogram
from zentracer.observe.kinds import TORCH, array_kind
from zentracer.observe.quiet import quiet
from zentracer.observe.stats import ROW_LIMIT, Look, error_text, look, may_wait
from zentracer.observe.torch_facts import special_type
from zentracer.present.arrays import shape_text
from zentracer.present.attributes import own_attributes
from zentracer.present.numbers import bound, short
from zentracer.present.rows import Child, Group, Row, Text, same_expression
from zentracer.present.values import CAPTURING, values_row

_BARS = "▁▂▃▄▅▆▇█"
_TENSOR_FLAGS = ("requires_grad", "is_leaf", "retains_grad", "layout", "_version")
_ARRAY_FLAGS = ("flags", "base", "nbytes", "itemsize", "ndim")


def array_children(array: Any) -> List[Child]:
    """``shape dtype device strides`` · ``stats`` · ``histogram`` · ``grad`` · ``values`` ·
    ``grad_fn`` · ``storage`` · ``attributes``; never raises.
    """
    seen = look(array, limit=ROW_LIMIT, zeros=True)
    facts = seen.facts
    is_torch = array_kind(type(array)) == TORCH
    rows: List[Child] = [
        ("shape", Text("unknown" if facts.shape is None else shape_text(facts.shape)), ".shape"),
        ("dtype", Text(f"torch.{facts.dtype}" if is_torch else facts.dtype), ".dtype"),
        ("device", Text(facts.device), ".device"),
        ("strides", Text(_strides(array)), ".stride()" if is_torch else ".strides"),
        ("stats", _stats_row(seen), None),
        ("histogram", _histogram_row(facts), None),
    ]
    if is_torch:
        rows.append(("grad", _grad(array), ".grad"))
    rows.append(("values", values_row(facts), _values_expression(facts, array)))
    if is_torch:
        rows.append(("grad_fn", _attribute(array, "grad_fn"), ".grad_fn"))
        rows.append(("storage", _storage(array), ".untyped_storage()"))
    flags = _TENSOR_FLAGS if is_torch else _ARRAY_FLAGS
    rows.append(("attributes", Group("", lambda: _attributes(array, flags)), same_expression))
    return rows


def _strides(array: Any) -> str:
    try:
        with quiet():
            strides = array.stride() if array_kind(type(array)) == TORCH else array.strides
            return shape_text(strides)
    except Exception as error:  # sparse layouts have none
        return f"none ({error_text(error)})"


def _stats_row(seen: Look) -> Row:
    facts, moments = seen
    if moments is None:
        return _on_device(facts, lambda: _deep_stats(facts)) or Text(facts.why or "not numbers")
    figures = [
        ("min", bound(moments.min, facts.dtype) if moments.count else "none"),
        ("max", bound(moments.max, facts.dtype) if moments.count else "none"),
        ("mean", short(moments.mean) if moments.count else "none"),
        ("std", short(moments.std) if moments.std is not None else "none"),
        ("absmax", short(moments.absmax) if moments.count else "none"),
        ("norm", short(moments.norm)),
        ("nan", str(moments.nan)),
        ("inf", str(moments.inf)),
        ("zeros", str(moments.zeros)),
    ]
    if moments.sampled:
        figures.append(("sampled", f"{moments.count + moments.nan + moments.inf:,} elements"))
    text = " ".join(f"{name}={figure}" for name, figure in figures[:9])
    mark = "~ " if moments.sampled else ""
    return Group(mark + text, lambda: [(name, Text(figure), None) for name, figure in figures])


def _deep_stats(facts: Facts) -> List[Child]:
    seen = look(facts.data, limit=ROW_LIMIT, zeros=True, sync=True)
    return _stats_row(seen).children() if seen.moments is not None else []


def _histogram_row(facts: Facts) -> Row:
    if facts.data is None:
        return Text(facts.why or "not numbers")
    deferred = _on_device(facts, lambda: _histogram_of(facts).children())
    return deferred or _histogram_of(facts)


def _histogram_of(facts: Facts) -> Row:
    try:
        counts = histogram(facts.data)
    except Exception as error:  # dtypes without arithmetic
        return Text(f"not available: {error_text(error)}")
    if counts is None:
        return Text("no finite elements")
    ends = f"{bound(counts.low, facts.dtype)} … {bound(counts.high, facts.dtype)}"
    mark = "~ " if counts.sampled else ""
    return Group(f"{mark}{_bars(counts.counts)} {ends}", lambda: _bins(counts))


def _bars(counts: List[int]) -> str:
    top = max(counts)
    return "".join(_BARS[-(-count * (len(_BARS) - 1) // top)] for count in counts)


def _bins(counts: Histogram) -> List[Child]:
    return [
        (
            f"[{short(counts.edge(at))}, {short(counts.edge(at + 1))}]",
            Text(str(count)),
            None,
        )
        for at, count in enumerate(counts.counts)
    ]


def _on_device(facts: Facts, make: Any) -> Optional[Row]:
    """A row that waits for the accelerator only when the user opens it."""
    if facts.data is None or facts.on_host:
        return None

    def when_allowed() -> List[Child]:
        return make() if may_wait(facts) else [CAPTURING]

    return Group(f"… open to compute (waits for {facts.device})", when_allowed)


def _grad(tensor: Any) -> Any:
    try:
        with quiet():
            if not (tensor.is_leaf or tensor.retains_grad):
                # Reading it would warn, and raise where warnings are errors.
                return Text("None (not a leaf; call retain_grad() to keep it)")
            return tensor.grad
    except Exception as error:  # a broken tensor type
        return Text(f"not available: {error_text(error)}")


def _attribute(tensor: Any, name: str) -> Any:
    try:
        with quiet():
            return getattr(tensor, name)
    except Exception as error:  # a broken tensor type
        return Text(f"not available: {error_text(error)}")


def _storage(tensor: Any) -> Any:
    if special_type(type(tensor)):
        return Text("none")
    try:
        with quiet():
            return tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return Text("none")  # sparse layouts, wrapper subclasses, functorch wrappers
    except Exception as error:  # a broken tensor type
        return Text(f"not available: {error_text(error)}")


def _values_expression(facts: Facts, array: Any) -> Any:
    """Only elements of the user's own strided array have an expression to change them by."""
    same = facts.data is array or array_kind(type(array)) != TORCH
    return same_expression if same and not facts.notes else None


def _attributes(array: Any, flags: Any) -> List[Child]:
    rows: List[Child] = [(name, _attribute(array, name), f".{name}") for name in flags]
    rows.extend(own_attributes(array))
    return rows
