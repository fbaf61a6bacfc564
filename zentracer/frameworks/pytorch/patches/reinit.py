"""Draw the initial values of parameters anew, by the user's scheme or the layer's own.

RUNS IN the training process. The random numbers come from a generator of our own.
"""

from __future__ import annotations

import ast
import difflib
import math
import types
from typing import Any, Callable, NamedTuple, Sequence

from torch import Tensor, nn

from zentracer.control.pointed import Pointed
from zentracer.frameworks.pytorch.patches import draws
from zentracer.frameworks.pytorch.patches.draws import Draw
from zentracer.frameworks.pytorch.patches.operands import fitting
from zentracer.frameworks.pytorch.patches.operations import Computed
from zentracer.frameworks.pytorch.patches.place import place_of
from zentracer.frameworks.pytorch.patches.tables import Held, held_below, indices, once, owner
from zentracer.frameworks.pytorch.patches.tables import written as expression
from zentracer.frameworks.pytorch.patches.tensor_change import TensorChange
from zentracer.frameworks.pytorch.unseen import unseen
from zentracer.patches.change import Change, Refused
from zentracer.patches.several import Several

_DEFAULT = "default"
_SCHEMES: dict[str, tuple[str, ...]] = {
    _DEFAULT: (),
    "kaiming_uniform": ("a", "mode", "nonlinearity"),
    "kaiming_normal": ("a", "mode", "nonlinearity"),
    "xavier_uniform": ("gain",),
    "xavier_normal": ("gain",),
    "orthogonal": ("gain",),
    "truncated_normal": ("mean", "std", "a", "b"),
    "normal": ("mean", "std"),
    "uniform": ("a", "b"),
    "zeros": (),
    "ones": (),
}
"""Schemes, and what each takes, as in ``torch.nn.init``."""
_ALIASES = {
    "trunc_normal": "truncated_normal",
    "kaiming": "kaiming_uniform",
    "he_normal": "kaiming_normal",
    "he_uniform": "kaiming_uniform",
    "xavier": "xavier_uniform",
    "glorot_normal": "xavier_normal",
    "glorot_uniform": "xavier_uniform",
}
_LITERAL = frozenset({"zeros", "ones"})
"""Schemes that mean the same for vectors as for matrices."""
_MAX_NAMES = 4


class Scheme(NamedTuple):
    """What the user asks for: ``kaiming_normal(a=0.1)``."""

    name: str
    arguments: dict[str, Any]

    @property
    def text(self) -> str:
        """As it is written."""
        given = ", ".join(f"{key}={value!r}" for key, value in self.arguments.items())
        return f"{self.name}({given})" if given else self.name


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


def scheme_of(value: str | None) -> Scheme:
    """Return the scheme that is written so.

    Raises:
        Refused: there is no such scheme.
    """
    text = (value or _DEFAULT).strip().strip("\"'")
    try:
        node = ast.parse(text, mode="eval").body
        call = node if isinstance(node, ast.Call) else None
        name = ast.unparse(call.func if call is not None else node)
        given = [ast.literal_eval(one) for one in call.args] if call is not None else []
        named = {k.arg or "**": ast.literal_eval(k.value) for k in call.keywords} if call else {}
    except (SyntaxError, ValueError):
        raise Refused(f"`{text}` is no scheme; there are {', '.join(_SCHEMES)}.") from None
    name = name.rpartition(".")[2].rstrip("_")
    name = _ALIASES.get(name, name)
    if name not in _SCHEMES:
        near = difflib.get_close_matches(name, [*_SCHEMES, *_ALIASES], n=1)
        hint = f" Did you mean `{near[0]}`?" if near else ""
        raise Refused(f"There is no scheme `{name}`; there are {', '.join(_SCHEMES)}.{hint}")
    known = _SCHEMES[name]
    arguments = {**dict(zip(known, given)), **named}
    if len(given) > len(known) or not set(named) <= set(known):
        takes = f"it takes {', '.join(known)}" if known else "it takes nothing"
        raise Refused(f"`{text}` is not understood: {takes}.")
    return Scheme(name, arguments)


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
        if not one.is_parameter and scheme.name != _DEFAULT:
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
    if scheme.name == _DEFAULT:
        return (own, False) if own is not None else None
    if scheme.name not in _LITERAL and one.tensor.dim() < 2:
        return (own, True) if own is not None else None
    return _by_scheme(scheme, one.module, one.attribute, one.tensor, one.path), False


def _drawn_by(
    scheme: Scheme, module: nn.Module | None, attribute: str, x: Tensor, label: str
) -> tuple[Draw, str]:
    """Return how one tensor is drawn, and what is to be said of that.

    Raises:
        Refused: the scheme says nothing of it.
    """
    needs_fan = scheme.name.startswith(("kaiming", "xavier", "orthogonal"))
    if scheme.name != _DEFAULT and not (needs_fan and x.dim() < 2):
        return _by_scheme(scheme, module, attribute, x, label), ""
    own = draws.own(module, attribute) if module is not None else None
    if own is None:
        why = "has one dimension, and so no fan" if x.dim() < 2 else "is of no layer of torch's"
        raise Refused(
            f"`{label}` {why}: give `normal(std=0.02)`, `uniform(-0.1, 0.1)`, `zeros` or `ones`."
        )
    if scheme.name == _DEFAULT:
        return own, ""
    return own, f"`{scheme.name}` is for weights: this has what its {type(module).__name__} draws"


def _by_scheme(
    scheme: Scheme, module: nn.Module | None, attribute: str, x: Tensor, label: str
) -> Draw:
    given = scheme.arguments
    try:
        draw = _MAKERS[scheme.name](given, module, x)
    except (ValueError, TypeError, ZeroDivisionError, OverflowError) as error:
        raise Refused(f"`{scheme.text}` cannot be drawn for `{label}`: {error}.") from None
    if isinstance(module, (nn.Embedding, nn.EmbeddingBag)) and scheme.name not in _LITERAL:
        draw = draw._replace(zero_row=module.padding_idx)
    return draw


def _kaiming(given: dict[str, Any], module: nn.Module | None, x: Tensor, kind: str) -> Draw:
    """Keep the variance through layers (He et al., 2015)."""
    a, mode = given.get("a", 0), given.get("mode", "fan_in")
    if mode not in ("fan_in", "fan_out"):
        raise ValueError("mode is fan_in or fan_out")
    gain = draws.gain_of(given.get("nonlinearity", "leaky_relu"), a)
    at = ("fan_in", "fan_out").index(mode)
    fan = draws.fans(module, x)[at]
    statement = _statement(f"kaiming_{kind}_", given) if fan == draws.fans(None, x)[at] else None
    return _spread(gain / math.sqrt(max(1, fan)), kind, statement)


def _xavier(given: dict[str, Any], module: nn.Module | None, x: Tensor, kind: str) -> Draw:
    """Keep the variance forward and backward (Glorot and Bengio, 2010)."""
    fan_in, fan_out = draws.fans(module, x)
    is_plain = (fan_in, fan_out) == draws.fans(None, x)
    statement = _statement(f"xavier_{kind}_", given) if is_plain else None
    return _spread(given.get("gain", 1.0) * math.sqrt(2 / (fan_in + fan_out)), kind, statement)


def _spread(std: float, kind: str, statement: str | None) -> Draw:
    bound = math.sqrt(3) * std
    draw = draws.normal(0, std) if kind == "normal" else draws.uniform(-bound, bound)
    return draw._replace(statement=statement or draw.statement)


def _truncated(given: dict[str, Any], module: nn.Module | None, x: Tensor) -> Draw:
    mean, std = float(given.get("mean", 0.0)), _positive(given.get("std", 1.0), "std")
    numbers = (mean, std, float(given.get("a", -2.0)), float(given.get("b", 2.0)))
    if not numbers[2] < numbers[3]:
        raise ValueError("a is not less than b")
    return Draw("truncated", numbers, _statement("trunc_normal_", given))


def _normal(given: dict[str, Any], module: nn.Module | None, x: Tensor) -> Draw:
    std = _positive(given.get("std", 1.0), "std")
    return draws.normal(float(given.get("mean", 0.0)), std)


def _uniform(given: dict[str, Any], module: nn.Module | None, x: Tensor) -> Draw:
    low, high = float(given.get("a", 0.0)), float(given.get("b", 1.0))
    if not low <= high:
        raise ValueError("a is greater than b")
    return draws.uniform(low, high)


def _orthogonal(given: dict[str, Any], module: nn.Module | None, x: Tensor) -> Draw:
    gain = float(given.get("gain", 1))
    return Draw("orthogonal", (gain,), _statement("orthogonal_", given))


_MAKERS: dict[str, Callable[[dict[str, Any], Any, Tensor], Draw]] = {
    "kaiming_uniform": lambda given, module, x: _kaiming(given, module, x, "uniform"),
    "kaiming_normal": lambda given, module, x: _kaiming(given, module, x, "normal"),
    "xavier_uniform": lambda given, module, x: _xavier(given, module, x, "uniform"),
    "xavier_normal": lambda given, module, x: _xavier(given, module, x, "normal"),
    "orthogonal": _orthogonal,
    "truncated_normal": _truncated,
    "normal": _normal,
    "uniform": _uniform,
    "zeros": lambda given, module, x: draws.constant(0),
    "ones": lambda given, module, x: draws.constant(1),
}


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


def _statement(function: str, given: dict[str, Any]) -> str:
    more = "".join(f", {key}={value!r}" for key, value in given.items())
    return f"torch.nn.init.{function}({{}}{more})"


def _positive(value: Any, name: str) -> float:
    if not value >= 0:
        raise ValueError(f"{name} is negative")
    return float(value)


def _whole(pointed: Pointed) -> Tensor:
    x = next((value for value in pointed.values if isinstance(value, Tensor)), None)
    if x is None:
        raise Refused(f"`{pointed.label}` is no tensor of torch's; `reinit` is for those.")
    return x


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
