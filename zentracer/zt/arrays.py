"""Statistics and comparisons of whatever holds tensors.

RUNS IN the user's training process. Nothing is recorded, drawn or changed; an accelerator that
holds a tensor is waited for, because the user asks for a number.
"""

from __future__ import annotations

import math
import numbers
from typing import Any, Dict, Iterator, List, Mapping, Optional

from zentracer.observe.facts import Facts
from zentracer.observe.kinds import TORCH, array_kind
from zentracer.observe.moments import Moments, merge, of_numbers
from zentracer.observe.quiet import quiet, torch_if_loaded
from zentracer.observe.stats import HIT_LIMIT, facts_of, look
from zentracer.present.arrays import head
from zentracer.present.attributes import instance_dict
from zentracer.present.kinds import MODULE, kind_of
from zentracer.zt.errors import ZtError

MOST_PARTS = 100_000
"""Tensors of one list, dict or generator."""
_COLLECTIONS = (list, tuple, set, frozenset)


def moments(asked: str, x: Any, *, buffers: bool = False) -> Moments:
    """Moments over all elements of ``x``.

    Args:
        asked: the member of ``zt`` that is answered, for the errors.
        x: a tensor, an array, a number, a module, or a collection of these.
        buffers: whether a module's buffers count, too.

    Raises:
        ZtError: ``x`` holds nothing of the kind, or its elements do not exist.
    """
    found = [_moments_of(asked, part) for part in parts(asked, x, buffers=buffers)]
    return found[0] if len(found) == 1 else merge(found)


def bound(asked: str, x: Any) -> float:
    """One statistic by its name; NaN where no element is finite."""
    found = moments(asked, x)
    value: Optional[float] = getattr(found, asked) if found.count else None
    return math.nan if value is None else float(value)


def parts(asked: str, x: Any, *, buffers: bool = False) -> Iterator[Any]:
    """Yield the tensors, arrays and numbers that ``x`` holds.

    Raises:
        ZtError: it holds something else.
    """
    stack, seen = [x], 0
    while stack:
        part = stack.pop()
        seen += 1
        if seen > MOST_PARTS:
            raise ZtError(f"zt.{asked}: this holds more than {MOST_PARTS:,} tensors.")
        if array_kind(type(part)) or isinstance(part, numbers.Real):
            yield part
        elif kind_of(type(part)) == MODULE:
            stack += reversed(module_tensors(part, buffers=buffers))
        elif isinstance(part, Mapping):
            stack += reversed(list(part.values()))
        elif isinstance(part, _COLLECTIONS) or hasattr(part, "__next__"):
            stack += reversed(list(part))
        elif part is not None:
            raise ZtError(
                f"zt.{asked} takes a tensor, an array or a list of them, not {_type(part)}."
            )
        elif part is x:
            raise ZtError(f"zt.{asked} takes a tensor or an array; this is None.")


def module_tensors(module: Any, *, buffers: bool) -> List[Any]:
    """The parameters below a module, each once, from the modules' own dictionaries."""
    found: Dict[int, Any] = {}
    stack, seen = [module], set()
    while stack:
        module = stack.pop()
        if id(module) in seen:
            continue
        seen.add(id(module))
        held = instance_dict(module)
        for table in ("_parameters", "_buffers") if buffers else ("_parameters",):
            for tensor in list((held.get(table) or {}).values()):
                if tensor is not None:
                    found.setdefault(id(tensor), tensor)
        children = reversed(list((held.get("_modules") or {}).values()))
        stack += [child for child in children if child is not None]
    return list(found.values())


def readable(asked: str, x: Any) -> Facts:
    """Facts of an array whose elements may be read.

    Raises:
        ZtError: they do not exist.
    """
    facts = facts_of(x)
    if facts.data is None:
        raise _no_data(asked, facts)
    return facts


def equal(a: Any, b: Any) -> bool:
    """Whether two arrays or numbers have the same shape and elements."""
    return close(a, b, 0.0, 0.0)


def close(a: Any, b: Any, rtol: float, atol: float) -> bool:
    """Whether two arrays or numbers are equal up to a tolerance."""
    asked = "equal" if rtol == atol == 0.0 else "close"
    torch = torch_if_loaded()
    left: Any = _plain(asked, a)
    right: Any = _plain(asked, b)
    if not array_kind(type(left)) and not array_kind(type(right)):
        return _near(float(left), float(right), rtol, atol)
    kinds = {array_kind(type(x)) for x in (left, right)}
    if kinds >= {TORCH} and torch is not None:
        with quiet():
            one, other = (_torch_host(torch, x) for x in (left, right))
            if one.dim() and other.dim() and one.shape != other.shape:
                return False
            return bool(torch.isclose(one, other, rtol, atol, equal_nan=True).all())
    import numpy

    if getattr(left, "shape", ()) and getattr(right, "shape", ()) and left.shape != right.shape:
        return False
    with numpy.errstate(all="ignore"):
        return bool(numpy.isclose(left, right, rtol, atol, equal_nan=True).all())


def _near(a: float, b: float, rtol: float, atol: float) -> bool:
    if a == b or (a != a and b != b):
        return True
    return math.isfinite(a) and math.isfinite(b) and abs(a - b) <= atol + rtol * abs(b)


def _plain(asked: str, x: Any) -> Any:
    if isinstance(x, numbers.Real):
        return x
    if not array_kind(type(x)):
        raise ZtError(f"zt.{asked} compares two tensors, arrays or numbers, not {_type(x)}.")
    return readable(asked, x).data


def _torch_host(torch: Any, x: Any) -> Any:
    tensor = x if array_kind(type(x)) == TORCH else torch.as_tensor(x)
    tensor = tensor.dequantize() if tensor.is_quantized else tensor
    tensor = tensor.cpu()
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)


def _moments_of(asked: str, x: Any) -> Moments:
    if not array_kind(type(x)):
        return of_numbers([float(x)])
    seen = look(x, limit=HIT_LIMIT, zeros=asked == "zeros", sync=True)
    if seen.moments is None:
        raise _no_data(asked, seen.facts)
    return seen.moments


def _no_data(asked: str, facts: Facts) -> ZtError:
    why = facts.why
    if why in ("", "…"):
        numeric = "a CUDA graph is being captured" if facts.data is not None else "not numbers"
        why = f"not readable here: {numeric}"
    return ZtError(f"zt.{asked} cannot look into {head(facts)} ({why}).")


def _type(value: Any) -> str:
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
