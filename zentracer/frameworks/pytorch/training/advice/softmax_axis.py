"""``softmax_over_batch``: weights that sum to 1 over the batch, and are used along another axis.

RUNS IN the training process. Only a softmax over axis 0 of two or more is looked at, once for
each line: the source tells along which axis the weights are used.
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
from zentracer.control.source import Place, function_node, place_of
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
        """Ask for every spelling of softmax."""
        functions = (torch.softmax, F.softmax, Tensor.softmax)
        return {function: self._look for function in functions}

    def _is_wanted(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any
    ) -> bool:
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
    text = place.module.text(place.node)
    new = re.sub(r"(dim\s*=\s*|,\s*)(-\d+|0)(\s*[,)])", rf"\g<1>{axis}\g<3>", text, count=1)
    return edits.replace(place, place.node, new) if new != text else None
