"""Draw the initial values of parameters anew, by the user's scheme or the layer's own.

RUNS IN the training process. The random numbers come from a generator of our own.
"""

from __future__ import annotations

import types
from typing import Any, Callable, Sequence

from torch import Tensor, nn

from zentracer.control.pointed import Pointed
from zentracer.frameworks.pytorch.patches import draws
from zentracer.frameworks.pytorch.patches.draws import Draw
from zentracer.frameworks.pytorch.patches.operands import fitting
from zentracer.frameworks.pytorch.patches.operations import Computed
from zentracer.frameworks.pytorch.patches.place import place_of
from zentracer.frameworks.pytorch.patches.schemes import (
    DEFAULT,
    LITERAL,
    Scheme,
    draw_of,
    scheme_of,
)
from zentracer.frameworks.pytorch.patches.tables import Held, held_below, indices, once, owner
from zentracer.frameworks.pytorch.patches.tables import written as expression
from zentracer.frameworks.pytorch.patches.tensor_change import TensorChange
from zentracer.frameworks.pytorch.unseen import unseen
from zentracer.patches.change import Change, Refused
from zentracer.patches.several import Several

_MAX_NAMES = 4


def reinit_change(
    value: str | None,
    pointed: Pointed,
    more: Sequence[Any],
    frame: types.FrameType | None,
    kind: type[TensorChange],
    part: type[TensorChange],
) -> Change:
    """Return the change that draws a tensor, or all parameters of a module, anew.

    Args:
        value: the scheme; the layer's own by default.
        pointed: a tensor or a module.
        more: what a tensor is indexed with besides.
        frame: where the program stands.
        kind: the change of a tensor.
        part: the change of a tensor of a module.

    Raises:
        Refused: there is no such scheme, or it says nothing of such a tensor.
    """
    scheme = scheme_of(value)
    with unseen():
        if isinstance(pointed.value, nn.Module):
            return _of_module(scheme, pointed, frame, part)
        return _of_tensor(scheme, pointed, more, frame, kind)


def _of_tensor(
    scheme: Scheme,
    pointed: Pointed,
    more: Sequence[Any],
    frame: types.FrameType | None,
    kind: type[TensorChange],
) -> Change:
    place = place_of(pointed, more)
    found = owner(pointed)
    x = _whole(pointed)
    module, attribute = (found[0], found[1]) if found is not None else (None, "")
    draw, note = _drawn_by(scheme, module, attribute, x, place.label)
    picks = indices(pointed, more)
    pointed.release()
    compute = _computing(draw, scheme, note, tuple(x.shape), picks)
    return kind(place, "reinit", compute, scheme.text, frame)


def _of_module(
    scheme: Scheme, pointed: Pointed, frame: types.FrameType | None, part: type[TensorChange]
) -> Change:
    module, label = pointed.value, pointed.label
    held, notes = once(held_below(module))
    parts: list[Change] = []
    left: list[str] = []
    vectors = 0
    for one in held:
        if not one.is_parameter and scheme.name != DEFAULT:
            continue
        draw = _for(scheme, one)
        if draw is None:
            left += [one.path] if one.is_parameter else []
            continue
        vectors += draw[1]
        parts.append(_part(scheme, draw[0], one, label, frame, part))
    pointed.release()
    if not parts:
        raise Refused(_nothing(scheme, label, left))
    if vectors:
        notes.append(
            f"{vectors} biases and parameters of norms have what their layers begin with: "
            f"`{scheme.name}` is for weights"
        )
    if left:
        notes.append(f"left as they were, for no layer of torch's has them: {_some(left)}")
    text = f"re-initialised: {scheme.text}, {len(parts)} tensors"
    return Several(label, text, parts, notes=notes)


def _part(
    scheme: Scheme,
    draw: Draw,
    one: Held,
    label: str,
    frame: types.FrameType | None,
    part: type[TensorChange],
) -> Change:
    place = place_of(Pointed(expression(label, one.path), [one.tensor], []))
    compute = _computing(draw, scheme, "", tuple(one.tensor.shape), ())
    return part(place, "reinit", compute, scheme.text, frame)


def _for(scheme: Scheme, one: Held) -> tuple[Draw, bool] | None:
    """Return how a parameter is drawn, and whether by its layer's own way instead of the scheme."""
    own = draws.own(one.module, one.attribute)
    if scheme.name == DEFAULT:
        return (own, False) if own is not None else None
    if scheme.name not in LITERAL and one.tensor.dim() < 2:
        return (own, True) if own is not None else None
    return draw_of(scheme, one.module, one.tensor, one.path), False


def _drawn_by(
    scheme: Scheme, module: nn.Module | None, attribute: str, x: Tensor, label: str
) -> tuple[Draw, str]:
    """Return how one tensor is drawn, and what is to be said of that.

    Raises:
        Refused: the scheme says nothing of it.
    """
    needs_fan = scheme.name.startswith(("kaiming", "xavier", "orthogonal"))
    if scheme.name != DEFAULT and not (needs_fan and x.dim() < 2):
        return draw_of(scheme, module, x, label), ""
    own = draws.own(module, attribute) if module is not None else None
    if own is None:
        why = "has one dimension, and so no fan" if x.dim() < 2 else "is of no layer of torch's"
        raise Refused(
            f"`{label}` {why}: give `normal(std=0.02)`, `uniform(-0.1, 0.1)`, `zeros` or `ones`."
        )
    if scheme.name == DEFAULT:
        return own, ""
    return own, f"`{scheme.name}` is for weights: this has what its {type(module).__name__} draws"


def _computing(
    draw: Draw, scheme: Scheme, note: str, shape: tuple[int, ...], picks: Sequence[Any]
) -> Callable[[Tensor, str], Computed]:
    """Return the function that draws what is to be in a place."""

    def compute(there: Tensor, label: str) -> Computed:
        if draw.kind != "constant" and not there.is_floating_point():
            raise Refused(f"`{label}` holds whole or complex numbers; no scheme draws those.")
        if draw.is_of_the_whole and picks:
            drawn = draw.sample(shape)
            for index in picks:
                drawn = drawn[index]
        else:
            drawn = draw.sample(there.shape)
        new = fitting(drawn.to(there.device), there, label)
        text = f"re-initialised: {scheme.text}"
        return Computed(new, text, (note,) if note else (), _with_zero_row(draw))

    return compute


def _with_zero_row(draw: Draw) -> str:
    if draw.zero_row is None:
        return draw.statement
    statement = draw.statement.replace("{}", "{0}")
    return f"{statement}\n    {{0}}[{draw.zero_row}].zero_()"


def _whole(pointed: Pointed) -> Tensor:
    return next(value for value in pointed.values if isinstance(value, Tensor))


def _nothing(scheme: Scheme, label: str, left: Sequence[str]) -> str:
    if not left:
        return f"`{label}` has no parameters."
    return (
        f"`{scheme.name}` says nothing of what `{label}` holds ({_some(left)}): no layer of "
        "torch's has them. Re-initialise them one by one, as by `normal(std=0.02)`."
    )


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
