"""The schemes by which parameters are initialised, as the user writes them.

RUNS IN the training process, inside ``unseen()``.
"""

from __future__ import annotations

import ast
import difflib
import math
from typing import Any, Callable, NamedTuple

from torch import Tensor, nn

from zentracer.frameworks.pytorch.patches import draws
from zentracer.frameworks.pytorch.patches.draws import Draw
from zentracer.patches.change import Refused

DEFAULT = "default"
_SCHEMES: dict[str, tuple[str, ...]] = {
    DEFAULT: (),
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
LITERAL = frozenset({"zeros", "ones"})
"""Schemes that mean the same for vectors as for matrices."""


class Scheme(NamedTuple):
    """What the user asks for: ``kaiming_normal(a=0.1)``."""

    name: str
    arguments: dict[str, Any]

    @property
    def text(self) -> str:
        """As it is written."""
        given = ", ".join(f"{key}={value!r}" for key, value in self.arguments.items())
        return f"{self.name}({given})" if given else self.name


def scheme_of(value: str | None) -> Scheme:
    """Return the scheme that is written so.

    Raises:
        Refused: there is no such scheme.
    """
    text = (value or DEFAULT).strip().strip("\"'")
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


def draw_of(scheme: Scheme, module: nn.Module | None, x: Tensor, label: str) -> Draw:
    """Return how a tensor is drawn.

    Args:
        scheme: any but the layer's own.
        module: what holds the tensor, if that is known.
        x: the tensor.
        label: how the user calls it.

    Raises:
        Refused: it cannot be drawn so.
    """
    given = scheme.arguments
    try:
        draw = _MAKERS[scheme.name](given, module, x)
    except (ValueError, TypeError, ZeroDivisionError, OverflowError) as error:
        raise Refused(f"`{scheme.text}` cannot be drawn for `{label}`: {error}.") from None
    if isinstance(module, (nn.Embedding, nn.EmbeddingBag)) and scheme.name not in LITERAL:
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


def _statement(function: str, given: dict[str, Any]) -> str:
    more = "".join(f", {key}={value!r}" for key, value in given.items())
    return f"torch.nn.init.{function}({{}}{more})"


def _positive(value: Any, name: str) -> float:
    if not value >= 0:
        raise ValueError(f"{name} is negative")
    return float(value)
