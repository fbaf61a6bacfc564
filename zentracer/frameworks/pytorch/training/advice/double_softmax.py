"""``double_softmax``: a loss that applies softmax or sigmoid to what went through it already.

RUNS IN the training process. The graph tells without a look at values: the loss is given the
result of a softmax over its own class axis, at most reshaped on the way.
"""

from __future__ import annotations

import types
from typing import Any, Mapping, NamedTuple

import torch.nn.functional as F
from torch import Tensor

from zentracer.control import edits
from zentracer.control.source import Place, call_name, operands, place_of
from zentracer.frameworks.pytorch.finite import readable_tensor
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.training.advice.adviser import Adviser, Rule
from zentracer.frameworks.pytorch.training.detector import Handler
from zentracer.frameworks.pytorch.unseen import is_tracing
from zentracer.wire.messages import Suggestion

RULE = Rule("double_softmax", "Softmax applied twice")
_ENOUGH = 8
"""Calls of one loss that are looked at; a model does not change its last layer later."""
_RESHAPING = frozenset(
    """
    View UnsafeView Reshape ReshapeAlias Squeeze Unsqueeze Select Slice Index Permute Transpose T
    Clone Contiguous ToCopy Alias
    """.split()
)
_MOVES_AXES = frozenset("Permute Transpose T Select View UnsafeView Reshape ReshapeAlias".split())
_MAX_STEPS = 6


class _Kind(NamedTuple):
    made_by: str
    called: str
    loss: str
    why: str


_SOFTMAX = _Kind(
    "SoftmaxBackward0", "softmax", "cross_entropy",
    "cross_entropy takes logits and applies log_softmax itself. Of probabilities it makes nearly "
    "equal ones again: the loss has a floor (0.55 for three classes) and gradients shrink.",
)  # fmt: skip
_SIGMOID = _Kind(
    "SigmoidBackward0", "sigmoid", "binary_cross_entropy_with_logits",
    "binary_cross_entropy_with_logits takes logits and applies sigmoid itself. Of probabilities "
    "it makes values in 0.5 to 0.73: the loss cannot fall below 0.31 for negatives.",
)  # fmt: skip


class DoubleSoftmax(Adviser):
    """Looks at what losses that take logits are given."""

    filter = RULE.filter

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._seen: dict[tuple[Any, Any], int] = {}
        self.glance = self._is_wanted

    def ops(self) -> Mapping[Any, Handler]:
        """Ask for the losses."""
        return {
            F.cross_entropy: self._softmax,
            F.binary_cross_entropy_with_logits: self._sigmoid,
        }

    def _is_wanted(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any
    ) -> bool:
        x = args[0] if args else kwargs.get("input")
        return type(x) is Tensor and x.grad_fn is not None and _maker(x) is not None

    def _softmax(self, *call: Any) -> None:
        self._look(_SOFTMAX, *call)

    def _sigmoid(self, *call: Any) -> None:
        self._look(_SIGMOID, *call)

    def _look(
        self, kind: _Kind, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any,
        frame: types.FrameType,
    ) -> None:  # fmt: skip
        x = args[0] if args else kwargs["input"]
        user, node = user_frame(frame), _maker(x)
        if user is None or node is None or node.name() != kind.made_by or is_tracing():
            return
        if readable_tensor(x) is not x:
            return
        key = (user.f_code, user.f_lasti)
        self._seen[key] = self._seen.get(key, 0) + 1
        if self._seen[key] > _ENOUGH or (kind is _SOFTMAX and not _is_over_classes(x, node)):
            return
        made = self.training.watch.site_of_node(node)
        origin = place_of(made.code, made.lasti, made.op) if made is not None else None
        self.tell(
            RULE,
            user,
            f"{kind.loss} applies {kind.called} to its argument, which came out of a "
            f"{kind.called} already",
            headline=f"{kind.called.capitalize()} applied twice",
            op=kind.loss,
            phase="loss",
            origin=origin,
            tensor=x.detach(),
            suggestions=(
                Suggestion(
                    title=f"leave the {kind.called} out of the model",
                    why=f"{kind.why} Apply {kind.called} only where probabilities are shown.",
                    edit=_without(origin, kind.called),
                ),
            ),
        )


def _maker(x: Tensor) -> Any:
    """Return the softmax or sigmoid whose result ``x`` is, apart from its shape."""
    node = x.grad_fn
    for _ in range(_MAX_STEPS):
        if node is None:
            return None
        name = node.name()
        if name in {_SOFTMAX.made_by, _SIGMOID.made_by}:
            return node
        following = node.next_functions
        if name[:-9] not in _RESHAPING or not following:
            return None
        node = following[0][0]
    return None


def _is_over_classes(x: Tensor, node: Any) -> bool:
    """Tell whether the softmax ran over the axis that the loss takes for the classes."""
    classes = 0 if x.dim() == 1 else 1
    inner: Any = x.grad_fn
    moved = False
    while inner is not node:
        moved = moved or inner.name()[:-9] in _MOVES_AXES
        inner = inner.next_functions[0][0]
    made = next(iter(getattr(node, "_input_metadata", ())), None)
    if made is None:  # older releases of torch do not tell
        return False
    if not moved:
        return len(made.shape) != x.dim() or _axis(node, x.dim()) == classes
    return made.shape[_axis(node, len(made.shape))] == x.shape[classes]


def _axis(node: Any, dims: int) -> int:
    axis = node._saved_dim
    axis = axis - 2**64 if axis >= 2**63 else axis  # torch shows it unsigned
    return axis % max(dims, 1)


def _without(origin: Place | None, called: str) -> Any:
    """Return the edit from ``softmax(x, dim=1)`` to ``x``."""
    if origin is None or origin.module is None or origin.node is None:
        return None
    arguments = operands(origin.node)
    if call_name(origin.node) != called or not arguments:
        return None
    return edits.replace(origin, origin.node, origin.module.text(arguments[0]))
