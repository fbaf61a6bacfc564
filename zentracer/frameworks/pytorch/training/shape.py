"""``zentracer.shape``: operands that broadcast by accident, shapes that change between steps.

RUNS IN the training process. Only metadata is compared; no element is read.
"""

from __future__ import annotations

import ast
import math
import types
from typing import Any, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from zentracer.control import edits, reshapes
from zentracer.control.source import Place, place_of
from zentracer.frameworks.pytorch.finite import PLAIN
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.modules import is_library, modules_on_stack
from zentracer.frameworks.pytorch.plans import readable
from zentracer.frameworks.pytorch.report import Finding
from zentracer.frameworks.pytorch.suggest import sentence_case
from zentracer.frameworks.pytorch.training.detector import Detector, Handler, Looker
from zentracer.frameworks.pytorch.training.module_names import ModuleNames
from zentracer.frameworks.pytorch.training.shape_changes import ShapeChanges
from zentracer.wire.filters import SHAPE
from zentracer.wire.messages import Suggestion

_OPERATORS = frozenset(
    getattr(owner, name)
    for owner in (torch, Tensor)
    for name in ("add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide")
) | {torch.rsub, Tensor.__rsub__, Tensor.__rdiv__}
_LOSSES = frozenset(
    getattr(F, name)
    for name in (
        "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "poisson_nll_loss",
        "gaussian_nll_loss", "soft_margin_loss", "binary_cross_entropy",
        "binary_cross_entropy_with_logits",
    )
)  # fmt: skip
_SECOND = ("target", "other", "weight")
_PASSING_ON = ("overrides.py", "functional.py", "_tensor.py")
_SPEAKING_FOR_THE_USER = ("loss.py",)
_DISTRIBUTIONS = "distributions"


class Shape(Detector):
    """Stops where (64, 1) meets (64,) and (64, 64) comes out."""

    filter = SHAPE

    def __init__(self, training: Any, armed: Any) -> None:
        super().__init__(training, armed)
        self._names = ModuleNames(training.is_used)
        self._changes = ShapeChanges()

    def close(self) -> None:
        """Forget everything."""
        self._changes.forget()
        self._names.forget()

    def ops(self) -> Mapping[Any, Handler]:
        """Return the operators and losses that broadcast."""
        return {**dict.fromkeys(_OPERATORS, self._operator), **dict.fromkeys(_LOSSES, self._loss)}

    @staticmethod
    def glance(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> bool:
        """Tell whether two operands of a call differ in their number of axes, beyond scalars."""
        if len(args) < 2:
            found = _operands(args, kwargs)
            if found is None:
                return False
            a, b = found
        else:
            a, b = args[0], args[1]
        if type(a) not in PLAIN or type(b) not in PLAIN:
            return False
        first, second = a.shape, b.shape
        return len(first) != len(second) and len(first) > 0 and len(second) > 0

    def looker(self, module: Any) -> Looker | None:
        """Return who compares the results of the user's own modules from step to step."""
        return None if is_library(module) else self._module

    # -- broadcasts --------------------------------------------------------------------------------

    def _loss(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any,
        frame: types.FrameType,
    ) -> None:  # fmt: skip
        pair = _operands(args, kwargs)
        if pair is None or _both_expanded(*pair) is None:
            return
        user = user_frame(frame)
        if user is None:
            return
        place = place_of(user.f_code, user.f_lasti, func.__name__)
        # A table of all pairs is asked for with reduction="none", and its axes are added there.
        if kwargs.get("reduction") == "none" and _is_meant_here(place):
            return
        self._tell(func.__name__, pair, out, place, user, "loss")

    def _operator(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any,
        frame: types.FrameType,
    ) -> None:  # fmt: skip
        pair = _operands(args, kwargs)
        if pair is None or _both_expanded(*pair) is None or not _are_twins(*pair):
            return
        maker = _maker(frame)
        user = user_frame(maker)
        if user is None or not _is_the_users(maker, user):
            return
        place = place_of(user.f_code, user.f_lasti, readable(func.__name__))
        if _is_meant_here(place):
            return
        a, b = pair
        is_loss = a.requires_grad != b.requires_grad and reshapes.is_reduced_to_one(place)
        if not is_loss and (any(map(_adds_ones, pair)) or _is_meant(place, maker, user)):
            return
        phase = "loss" if is_loss else "forward"
        self._tell(readable(func.__name__), pair, out, place, user, phase)

    def _tell(
        self, op: str, pair: tuple[Tensor, Tensor], out: Any, place: Place, user: types.FrameType,
        phase: str,
    ) -> None:  # fmt: skip
        if not self.training.is_fresh(("shape", id(user.f_code), user.f_lasti)):
            return
        a, b = pair
        made = _both_expanded(a, b)
        assert made is not None
        nodes = reshapes.operands_of(place)
        names = tuple(
            place.module.text(node) if place.module is not None and node is not None else None
            for node in nodes
        )
        modules = modules_on_stack(user)
        finding = Finding(
            op=op,
            phase=phase,
            tensor=out.detach() if isinstance(out, Tensor) else None,
            nan=0,
            inf=0,
            source=place,
            origin=place,
            subject=f"output of {op}",
            module=self._names.of(modules[0], user) if modules else None,
            inputs=((names[0], a.detach()), (names[1], b.detach())),
            suggestions=_suggestions(place, nodes, names, pair),
            filter=SHAPE,
            headline=f"Silent broadcast in {op}",
            numbers=f"{_shape(a.shape)} with {_shape(b.shape)} broadcast to {_shape(made)}, "
            f"{math.prod(made):,} elements from {a.numel():,} and {b.numel():,}",
        )
        self.training.stop(self.armed, finding, user)

    # -- changes -----------------------------------------------------------------------------------

    def _module(
        self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any,
        frame: types.FrameType,
    ) -> None:  # fmt: skip
        change = self._changes.see(module, args, kwargs, out)
        user = user_frame(frame) if change is not None else None
        if change is None or user is None:
            return
        finding = change.finding(self._names.of(module, user), place_of(user.f_code, user.f_lasti))
        self.training.stop(self.armed, finding, user)


def _operands(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Tensor, Tensor] | None:
    given = list(args[:2])
    if not given and "input" in kwargs:
        given.append(kwargs["input"])
    if len(given) == 1:
        given += [kwargs[name] for name in _SECOND if name in kwargs][:1]
    if len(given) < 2 or type(given[0]) not in PLAIN or type(given[1]) not in PLAIN:
        return None
    return given[0], given[1]


def _both_expanded(a: Tensor, b: Tensor) -> tuple[int, ...] | None:
    """Return the common shape if it has more elements than either, and neither is a whole axis."""
    if a.dim() == b.dim() or not (a.is_floating_point() and b.is_floating_point()):
        return None
    if torch._C._functorch.peek_interpreter_stack() is not None:  # type: ignore[attr-defined]
        return None  # under vmap shapes are those of one sample
    try:
        made = tuple(torch.broadcast_shapes(a.shape, b.shape))
    except RuntimeError:
        return None
    return made if math.prod(made) > max(a.numel(), b.numel()) else None


def _are_twins(a: Tensor, b: Tensor) -> bool:
    """Tell whether two shapes are the same but for axes of size one."""
    return [n for n in a.shape if n != 1] == [n for n in b.shape if n != 1]


def _maker(frame: types.FrameType | None) -> types.FrameType | None:
    """Return the frame that asked for the operation, past torch's own ways of passing it on."""
    while frame is not None and frame.f_code.co_filename.endswith(_PASSING_ON):
        if "torch" not in frame.f_code.co_filename:
            break
        frame = frame.f_back
    return frame


def _is_the_users(maker: types.FrameType | None, user: types.FrameType) -> bool:
    """Tell whether the operands are the user's own: not the inside of a library's algorithm."""
    if maker is user:
        return True
    path = maker.f_code.co_filename if maker is not None else ""
    return path.endswith(_SPEAKING_FOR_THE_USER) or _DISTRIBUTIONS in path


def _is_meant_here(place: Place) -> bool:
    """Tell whether the line itself adds the axis."""
    nodes = reshapes.operands_of(place)
    if nodes[0] is None:
        return reshapes.statement_shapes(place)
    return any(node is not None and reshapes.shapes_here(node) for node in nodes)


def _is_meant(place: Place, maker: types.FrameType | None, user: types.FrameType) -> bool:
    """Tell whether the axis was added where an operand was bound, or by the caller that gave it."""
    nodes = [node for node in reshapes.operands_of(place) if node is not None]
    if any(reshapes.shapes_before(place, node) for node in nodes):
        return True
    parameters = set(user.f_code.co_varnames[: user.f_code.co_argcount])
    if maker is not user or not any(
        isinstance(node, ast.Name) and node.id in parameters for node in nodes
    ):
        return False
    caller = user_frame(user.f_back)
    if caller is None:
        return False
    call = place_of(caller.f_code, caller.f_lasti)
    given = list(getattr(call.node, "args", ()))
    return any(reshapes.shapes_before(call, argument) for argument in given)


def _adds_ones(x: Tensor) -> bool:
    """Tell whether ``x`` is a fresh view that was given an axis of size one."""
    ones = sum(1 for n in x.shape if n == 1)
    base = x._base
    if base is not None and base.numel() == x.numel():
        return sum(1 for n in base.shape if n == 1) < ones
    node = x.grad_fn
    return node is not None and node.name().startswith("Unsqueeze")


def _shape(sizes: Any) -> str:
    return str(tuple(sizes))


def _suggestions(
    place: Place, nodes: tuple[Any, Any], names: tuple[str | None, ...],
    pair: tuple[Tensor, Tensor],
) -> tuple[Suggestion, ...]:  # fmt: skip
    """Return how to bring both operands to one shape."""
    big = 0 if pair[0].dim() > pair[1].dim() else 1
    wide, flat = pair[big].shape, pair[1 - big].shape
    a, b = names[big] or "one operand", names[1 - big] or "the other"
    axis = _extra_axis(wide, flat)
    why = (
        f"{a} has shape {_shape(wide)} and {b} {_shape(flat)}: every element of one meets every "
        "element of the other."
    )
    if axis is None:
        known = _are_twins(*pair) and names[1 - big] is not None
        edit = _edit(place, nodes[big], f"view_as({b})") if known else None
        return (sentence_case(Suggestion(title="bring both to one shape", why=why, edit=edit)),)
    drop = Suggestion(
        title=f"drop axis {axis} of {a}",
        why=why,
        edit=_edit(place, nodes[big], f"squeeze({axis})"),
    )
    add = Suggestion(
        title=f"or give {b} that axis",
        why=f"then both have shape {_shape(wide)}.",
        edit=_edit(place, nodes[1 - big], f"unsqueeze({axis})"),
    )
    return sentence_case(drop), sentence_case(add)


def _extra_axis(wide: Any, flat: Any) -> int | None:
    """Return the axis of size one that ``wide`` has and ``flat`` has not."""
    for axis in reversed(range(len(wide))):
        if wide[axis] == 1 and tuple(wide[:axis]) + tuple(wide[axis + 1 :]) == tuple(flat):
            return axis
    return None


def _edit(place: Place, node: Any, call: str) -> Any:
    if place.module is None or node is None:
        return None
    return edits.replace(place, node, edits.call_method(place.module, node, call))
