"""Where an activation gets its values from and where they go, by the autograd graph.

RUNS IN the training process, once something looks suspicious. Nothing of the graph is kept.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any, Iterable

from torch import Tensor

from zentracer.frameworks.pytorch.finite import readable_tensor
from zentracer.frameworks.pytorch.nodes import leaf_behind, saved
from zentracer.frameworks.pytorch.training.events import node_of

# What stands between a layer and its activation without making the values mean something else.
_PASSING = frozenset(
    """
    View UnsafeView Reshape ReshapeAlias Transpose Permute T Squeeze Unsqueeze Slice Select Split
    SplitWithSizes UnsafeSplit Unbind Expand ToCopy Clone Alias AsStrided ConstantPadNd Cat Stack
    NativeBatchNorm CudnnBatchNorm NativeLayerNorm FusedRmsNorm NativeGroupNorm NativeDropout
    MaxPool1D MaxPool2DWithIndices AvgPool2D AvgPool3D AdaptiveAvgPool2D Mean Index IndexSelect
    IndexAdd Gather Copy
    """.split()
)
_BOTH = frozenset(("Add", "Mul", "Div", "Sub"))
"""Pass on too: a sum of two values that learn, or a value that a constant mask is laid on."""
_LAYERS = frozenset(
    """
    Addmm Mm Bmm Baddbmm Mv Addmv Linear Convolution ConvolutionOverrideable MkldnnConvolution
    CudnnConvolution SlowConv2D SlowConvDilated2D ConvDepthwise2D SparseAddmm Einsum
    """.split()
)
_CHANNELS = frozenset(
    """
    Convolution ConvolutionOverrideable MkldnnConvolution CudnnConvolution ConvDepthwise2D
    MaxPool1D MaxPool2DWithIndices AvgPool2D AvgPool3D AdaptiveAvgPool2D NativeBatchNorm
    CudnnBatchNorm NativeGroupNorm SlowConv2D SlowConvDilated2D
    """.split()
)
"""They have their units along axis 1; a Linear, layer norm or matrix product has them last."""
_LAST = frozenset("Addmm Mm Bmm Baddbmm Linear NativeLayerNorm FusedRmsNorm".split())
_MAX_STEPS = 40
_MAX_NODES = 20_000


@dataclass(frozen=True)
class Layer:
    """The layer whose results an activation gets."""

    weight: weakref.ref[Tensor]
    bias: weakref.ref[Tensor] | None
    """Of the normalisation between them, if there is one."""
    node: Any
    """Valid as long as the graph of this step."""

    @property
    def input(self) -> Tensor | None:
        """What the layer was given, if the graph still holds it."""
        for name in ("mat1", "input", "self"):
            value = saved(self.node, name)
            plain = readable_tensor(value) if isinstance(value, Tensor) else None
            if plain is not None:
                return plain.detach()
        return None


def base_of(node: Any) -> str:
    """Return the operation of a node: ``Addmm`` for ``AddmmBackward0``."""
    return node.name().split("::")[-1].split("Backward")[0]


def layer_before(node: Any) -> Layer | None:
    """Return the layer that feeds the activation of ``node``.

    None if there is none, or something else stands between: ``relu(margin - score)`` is part of a
    loss, and zero when all is well.
    """
    stack = [edge for edge, _ in node.next_functions]
    shift: Tensor | None = None
    for _ in range(_MAX_STEPS):
        if not stack:
            return None
        current = stack.pop()
        if current is None:
            continue
        base = base_of(current)
        edges = [edge for edge, _ in current.next_functions]
        leaves = [leaf for edge in edges if (leaf := leaf_behind(edge)) is not None]
        if base in _LAYERS and leaves:
            weight = max(leaves, key=Tensor.dim)
            own = next((leaf for leaf in leaves if leaf.dim() == 1 and leaf is not weight), None)
            bias = shift if shift is not None else own
            return Layer(
                weakref.ref(weight), weakref.ref(bias) if bias is not None else None, current
            )
        if "Norm" in base and len(edges) == 3 and len(leaves) >= 2 and shift is None:
            shift = leaves[-1]
        if base in _BOTH and not _is_neutral(base, edges):
            return None
        if base in _PASSING or base in _BOTH or base in _LAYERS:
            stack += reversed(edges)
        elif not leaves:
            return None
    return None


def unit_axis(x: Tensor, node: Any) -> int:
    """Return the axis along which the units of an activation lie.

    Axis 1 after convolutions, pooling, batch and group norm; the last one after linear layers and
    layer norm. Where the graph does not tell: axis 1 of four axes or more, else the last.
    """
    if x.dim() <= 2:
        return x.dim() - 1
    current = node
    for _ in range(_MAX_STEPS):
        following = [edge for edge, _ in current.next_functions if edge is not None]
        if not following:
            break
        current = following[0]
        base = base_of(current)
        if base in {"Transpose", "Permute"}:
            break
        if base in _CHANNELS:
            return 1
        if base in _LAST:
            return x.dim() - 1
    return 1 if x.dim() > 3 else x.dim() - 1


@dataclass(frozen=True)
class Use:
    """What becomes of a value on its way to the loss."""

    is_gate: bool
    """It is multiplied with something else that learns."""
    consumer: Tensor | None
    """A parameter of the next layer on the way; None if there is none: the value is an output."""


def uses_of(roots: Iterable[Any], numbers: set[tuple[str, int]]) -> dict[tuple[str, int], Use]:
    """Return what becomes of the values made by the nodes with these names and numbers."""
    stack: list[tuple[Any, Any]] = [
        (node, None) for root in roots if (node := node_of(root)) is not None
    ]
    seen: dict[Any, bool] = {}
    gated: set[tuple[str, int]] = set()
    found: dict[tuple[str, int], Tensor | None] = {}
    while stack and len(seen) < _MAX_NODES:
        node, above = stack.pop()
        if seen.get(node, False) or (node in seen and above is None):
            continue
        seen[node] = above is not None
        name = node.name()
        key = (name, _number(node))
        if key in numbers:
            found[key] = found.get(key) if above is None else above
        edges = [edge for edge, _ in node.next_functions if edge is not None]
        own = next((leaf for edge in edges if (leaf := leaf_behind(edge)) is not None), None)
        gates = base_of(node) == "Mul" and len(edges) == 2
        for edge in edges:
            if gates and (wanted := (edge.name(), _number(edge))) in numbers:
                gated.add(wanted)
            stack.append((edge, own if own is not None else above))
    return {key: Use(key in gated, consumer) for key, consumer in found.items()}


def key_of(node: Any) -> tuple[str, int]:
    """Return what tells a node from the others of its step, and does not keep it alive."""
    return node.name(), _number(node)


def _number(node: Any) -> int:
    number = getattr(node, "_sequence_nr", None)
    return number() if number is not None else 0


def _is_neutral(base: str, edges: list[Any]) -> bool:
    """Tell whether a sum is that of two values that learn, or a product that with a mask."""
    live = sum(1 for edge in edges if edge is not None)
    return live == 2 if base in {"Add", "Sub"} else live == 1
