"""Kinds of autograd nodes, by what their derivative can do to finite numbers.

RUNS IN the training process, for each node of a graph when backward starts.
"""

from __future__ import annotations

from typing import Any

import torch

# Backward of these moves, selects, masks or adds gradients: finite in, finite out.
_HARMLESS = frozenset(
    """
    AccumulateGrad Add Alias AsStrided Cat Clone Clamp ClampMax ClampMin Copy CopySlices Detach
    Diagonal Embedding Expand Fill Flip Gather Identity Index IndexSelect LeakyRelu Hardtanh Lift
    MaskedFill MaskedSelect MaxPool1D MaxPool2DWithIndices MaxPool3DWithIndices Max Maximum Mean
    Min Minimum Narrow NativeDropout Neg Permute ConstantPadNd ReflectionPad Relu Repeat Reshape
    ReshapeAlias Roll Rsub Scatter ScatterAdd Select Slice Split SplitWithSizes Squeeze Stack Sub
    Sum SwapAxes T Threshold ToCopy Transpose Tril Triu Unbind Unfold UnsafeSplit UnsafeView
    Unsqueeze View Where Zero
    """.split()
)
# These make NaN or Inf only where numbers overflow, which float32 and bfloat16 rarely do, and what
# they pass on is large. A bad gradient shows in the smallest leaf of the next layer, mostly a bias;
# then the tame nodes since the last good one are asked for.
_TAME = frozenset(
    """
    Addmm AdaptiveAvgPool2D AvgPool2D Baddbmm Bmm Convolution Gelu LogSoftmax Mm Mul NativeBatchNorm
    NativeGroupNorm NativeLayerNorm SafeSoftmax Sigmoid Silu Softmax Tanh
    """.split()
)
HARMLESS, TAME, OTHER = 0, 1, 2
"""Finite in, finite out; may overflow; may make NaN or Inf of ordinary numbers."""
_kinds: dict[type, int] = {}
_MAX_KINDS = 4096


def kind_of(node: Any) -> int:
    """Return HARMLESS, TAME or OTHER."""
    known = _kinds.get(type(node))
    return _decide_kind(node) if known is None else known


def _decide_kind(node: Any) -> int:
    base = node.name().split("::")[-1].split("Backward")[0]
    kind = HARMLESS if base in _HARMLESS else TAME if base in _TAME else OTHER
    # Every operation of torch has a type of its own; what extensions add shares this one.
    if type(node).__name__ != "CppFunction" and len(_kinds) < _MAX_KINDS:
        _kinds[type(node)] = kind
    return kind


def is_half(node: Any) -> bool:
    """Tell whether float16 flows through ``node``."""
    known = getattr(node, "_input_metadata", ())  # older releases of torch do not tell
    return any(x.dtype is torch.float16 for x in known if x is not None)


def saved(node: Any, name: str) -> Any:
    """Return the tensor that ``node`` has saved as ``name``.

    None where there is none, where it is released, or where unpacking it would run hooks: that of
    a checkpoint runs the user's forward pass again. Releases of torch that do not tell count so.
    """
    raw = None
    try:
        raw = getattr(node, f"_raw_saved_{name}", None)
        if getattr(raw, "unpack_hook", raw) is not None:
            return None
        return getattr(node, f"_saved_{name}", None)
    except RuntimeError:  # released, or changed in place since
        return None


def leaf_behind(node: Any) -> Any:
    """Return the leaf that a gradient sent to ``node`` ends in before anybody could look at it."""
    for _ in range(8):
        if node is None or kind_of(node) != HARMLESS:
            return None
        following = node.next_functions
        if not following:
            return getattr(node, "variable", None)
        node = following[0][0]
    return None
