"""Finds the operation that made a value which was seen only later.

RUNS IN the training process, when a checked operation meets a bad input. Large results of tame
operations are not looked at when they are made; the autograd graph still holds what each of them
was given, so the way back from the bad value leads to the one whose inputs were finite.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Iterable

import torch
from torch import Tensor

from zentracer.control.source import Place, place_of
from zentracer.frameworks.pytorch import naming
from zentracer.frameworks.pytorch.finite import counts, readable_tensor
from zentracer.frameworks.pytorch.nodes import saved
from zentracer.frameworks.pytorch.plans import LARGE
from zentracer.frameworks.pytorch.report import Finding
from zentracer.frameworks.pytorch.scene import Scene
from zentracer.frameworks.pytorch.suggest import suggestions_for

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.watch import Watch

_TAME = frozenset("Add Addmm Baddbmm Bmm Convolution Mm Mul Rsub Sub".split())
_SUMS = frozenset("Add Sub Rsub".split())
# Between a tame operation and the next look: what is never checked, and batch norm, which is
# checked by its statistics.
_PASSING = frozenset(
    """
    Alias AsStrided Cat Clamp Clone ConstantPadNd Elu Expand Gelu Hardtanh Index LeakyRelu
    MaxPool2DWithIndices NativeDropout Neg Permute Relu Reshape ReshapeAlias Select Sigmoid Silu
    Slice Split Squeeze Stack T Tanh Threshold ToCopy Transpose Unbind UnsafeView Unsqueeze View
    """.split()
)
_GIVEN = frozenset("self other mat1 mat2 input weight batch1 batch2".split())
_MAX_NODES = 2_000


def maker(bad: Iterable[Tensor]) -> Any:
    """Return the autograd node that made the first of the ``bad`` values; None if it is unknown."""
    for x in bad:
        readable = readable_tensor(x)
        if readable is None or x.grad_fn is None:
            continue
        found = _Search(has_nan=counts(readable)[0] > 0).above(x.grad_fn)
        if found is not None:
            return found
    return None


def finding(watch: Watch, node: Any, bad: list[Tensor], source: Place) -> Finding:
    """Return the finding for ``node``, seen while the program stands at ``source``."""
    site = watch.site_of_node(node)
    place = place_of(site.code, site.lasti, site.op) if site is not None else source
    name = site.op if site is not None else node.name()
    value = next(r for x in bad if (r := readable_tensor(x)) is not None and any(counts(r)))
    nan, inf = counts(value)
    given = tuple(x for x in naming.saved_tensors(node))
    module = naming.module_of(node, site)
    values = tuple(x for _, x in given)
    scene = Scene(name, "forward", place, values, (), {}, value.detach(), module)
    return Finding(
        op=name,
        phase="forward",
        tensor=value.detach(),
        nan=nan,
        inf=inf,
        source=source,
        origin=place,
        subject=f"output of {name}" + (f" in {module}" if module else ""),
        module=module,
        inputs=given,
        suggestions=suggestions_for(scene),
        finite_before="What this operation was given was finite.",
        note="it was seen at the next operation that is checked, where the program stands. "
        'Set "precise": true to stop on the line itself.',
    )


class _Search:
    """The way back from one bad value."""

    def __init__(self, *, has_nan: bool) -> None:
        self._has_nan = has_nan
        self._seen: set[Any] = set()

    def above(self, node: Any) -> Any:
        """Return the maker among ``node`` and the nodes that it got its values from."""
        if node is None or node in self._seen or len(self._seen) > _MAX_NODES:
            return None
        self._seen.add(node)
        base = node.name().split("::")[-1].split("Backward")[0]
        if base in _TAME and _is_large(node):
            return self._at_tame(node, base)
        if base in _PASSING or base in _TAME:
            return self._above_all(node)
        return None  # it was checked when it ran, or it is a leaf

    def _at_tame(self, node: Any, base: str) -> Any:
        given = [x for label, x in naming.saved_tensors(node) if _label(label) in _GIVEN]
        was_bad = any(any(counts(x)) for x in given)
        if len(given) > 1 and not was_bad:
            return node if _makes_bad(node, base) else None
        found = self._above_all(node)
        if found is not None or was_bad:
            return found
        if base in _SUMS:  # infinities alone are those of a mask that was added
            return node if self._has_nan else None
        return node if _makes_bad(node, base) else None

    def _above_all(self, node: Any) -> Any:
        found = (self.above(edge[0]) for edge in node.next_functions)
        return next((maker for maker in found if maker is not None), None)


def _is_large(node: Any) -> bool:
    """Tell whether the result of ``node`` was passed over when it was made."""
    made = next(iter(getattr(node, "_input_metadata", ())), None)
    return made is None or math.prod(made.shape) > LARGE


def _makes_bad(node: Any, base: str) -> bool:
    """Run a tame operation again on what it was given; True where that cannot be done."""
    try:
        return any(counts(_again(node, base)))
    except (AttributeError, RuntimeError, TypeError):  # not all was saved
        return True


def _again(node: Any, base: str) -> Tensor:
    if base == "Addmm":
        return saved(node, "mat1") @ saved(node, "mat2")
    if base == "Mm":
        return saved(node, "self") @ saved(node, "mat2")
    if base == "Bmm":
        return torch.bmm(saved(node, "self"), saved(node, "mat2"))
    if base == "Mul":
        return saved(node, "self") * saved(node, "other")
    if base == "Convolution":
        return torch.convolution(
            saved(node, "input"), saved(node, "weight"), None, node._saved_stride,
            node._saved_padding, node._saved_dilation, node._saved_transposed,
            node._saved_output_padding, node._saved_groups,
        )  # fmt: skip
    raise AttributeError(base)


def _label(label: str | None) -> str:
    return (label or "").split(" ")[-1]
