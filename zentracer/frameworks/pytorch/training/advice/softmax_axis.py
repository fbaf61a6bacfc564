"""``softmax_over_batch``: weights that sum to 1 over the batch, and are used along another axis.

RUNS IN the training process. Only a softmax over axis 0 of two or more is looked at, once for
each line: the source tells along which axis the weights are used. Of a log_softmax that is known
where a loss takes it.
"""

from __future__ import annotations

import ast
import re
import types
from typing import Any, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from zentracer.control import edits
from zentracer.control.source import Place, call_name, function_node, place_of
from zentracer.frameworks.pytorch.finite import readable_tensor
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.training.advice.adviser import Adviser, Rule
from zentracer.frameworks.pytorch.training.advice.axes import reads_of, reduction
from zentracer.frameworks.pytorch.training.advice.running import enclosing, site
from zentracer.frameworks.pytorch.training.detector import Handler
from zentracer.wire.messages import Suggestion

RULE = Rule("softmax_over_batch", "Softmax over the batch axis")


class SoftmaxAxis(Adviser):
    """Looks at softmaxes over axis 0 in modules."""

    filter = RULE.filter

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._judged: set[tuple[int, int]] = set()
        self.glance = self._is_wanted

    def ops(self) -> Mapping[Any, Handler]:
        """Ask for every spelling of softmax, and for the loss that takes its logarithm."""
        functions = (torch.softmax, F.softmax, Tensor.softmax)
        return {**{function: self._look for function in functions}, F.nll_loss: self._at_loss}

    def _is_wanted(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any
    ) -> bool:
        if func is F.nll_loss:
            return _is_over_batch(args[0] if args else kwargs.get("input"))
        dim = args[1] if len(args) > 1 else kwargs.get("dim")
        if type(out) is not Tensor or not isinstance(dim, int):
            return False
        dims = out.dim()
        return dims >= 2 and dim in (0, -dims) and 1 not in out.shape[:2]

    def _look(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Tensor,
        frame: types.FrameType,
    ) -> None:  # fmt: skip
        user = user_frame(frame)
        if user is None or site(user) in self._judged or enclosing(frame) is None:
            return
        if readable_tensor(out) is not out:  # under vmap axis 0 is no batch
            return
        self._judged.add(site(user))
        place = place_of(user.f_code, user.f_lasti, "softmax")
        use = _use_along_another_axis(place, user, out)
        if use is None:
            return
        axis, line = use
        batch, size = out.shape[0], out.shape[axis]
        self.tell(
            RULE,
            user,
            f"dim=0 normalises over the {batch} samples of the batch, but line {line} uses the "
            f"result along axis {axis} ({size} entries): each sample's weights depend on the "
            "others in its batch, and are 1 for a batch of one",
            op="softmax",
            tensor=out.detach(),
            suggestions=(
                Suggestion(
                    title=f"normalise over axis {axis}",
                    why=f"weights that are summed over axis {axis} should sum to 1 there.",
                    edit=_edit(place, axis),
                ),
            ),
        )

    def _at_loss(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Tensor,
        frame: types.FrameType,
    ) -> None:  # fmt: skip
        """The loss takes axis 1 for the classes."""
        x = args[0] if args else kwargs["input"]
        user = user_frame(frame)
        if user is None or site(user) in self._judged or readable_tensor(x) is not x:
            return
        self._judged.add(site(user))
        made = self.training.watch.site_of_node(x.grad_fn)
        origin = place_of(made.code, made.lasti, made.op) if made is not None else None
        self.tell(
            RULE,
            user,
            f"nll_loss takes axis 1 ({x.shape[1]} entries) for the classes, but log_softmax "
            f"normalises over the {x.shape[0]} samples of the batch: each sample's probabilities "
            "depend on the others and do not sum to 1",
            op="nll_loss",
            phase="loss",
            origin=origin,
            tensor=x.detach(),
            suggestions=(
                Suggestion(
                    title="normalise over axis 1",
                    why="the probabilities of one sample's classes should sum to 1.",
                    edit=_edit(origin, 1) if origin is not None else None,
                ),
            ),
        )


def _is_over_batch(x: Any) -> bool:
    """Tell whether ``x[samples, classes, ...]`` came out of a log_softmax over the samples.

    A square one may be the similarities of pairs, which are compared along both axes.
    """
    if type(x) is not Tensor or x.grad_fn is None or x.dim() < 2 or x.shape[0] < 2:
        return False
    if x.shape[0] == x.shape[1] or x.grad_fn.name() != "LogSoftmaxBackward0":
        return False
    return getattr(x.grad_fn, "_saved_dim", None) in (0, 2**64 - x.dim())


def _use_along_another_axis(
    place: Place, frame: types.FrameType, out: Tensor
) -> tuple[int, int] | None:
    """Return (axis, line) of the sum in which the weights are used, if it is not over axis 0."""
    module, node = place.module, place.node
    if module is None or node is None:
        return None
    scope = function_node(module, frame.f_code)
    for read in reads_of(module, scope, node):
        found = reduction(module, read, frame, out)
        if found is not None:
            axis, line = found
            return None if axis == 0 or axis >= out.dim() else (axis, line)
    return None


def _edit(place: Place, axis: int) -> Any:
    if place.module is None or not isinstance(place.node, ast.Call):
        return None
    if "softmax" not in call_name(place.node):  # a module's axis is written elsewhere
        return None
    text = place.module.text(place.node)
    new = re.sub(r"(dim\s*=\s*|,\s*)(-\d+|0)(\s*[,)])", rf"\g<1>{axis}\g<3>", text, count=1)
    return edits.replace(place, place.node, new) if new != text else None
