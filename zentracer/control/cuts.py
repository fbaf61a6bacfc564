"""Operations through which no gradient comes back, as they are written.

RUNS IN the training process, only when there is something to report.
"""

from __future__ import annotations

import ast
from typing import Optional

from zentracer.control.source import call_name

_METHODS = frozenset(
    """
    detach detach_ item numpy tolist argmax argmin argsort round round_ floor floor_ ceil ceil_
    trunc trunc_ frac sign sign_ sgn heaviside bernoulli bernoulli_ multinomial long int byte bool
    short char nonzero argwhere eq ne lt le gt ge greater less greater_equal less_equal equal
    isclose logical_not logical_and logical_or searchsorted bucketize randint_like one_hot
    """.split()
)
"""Methods of a tensor, and functions of torch with the same names."""
_ZERO_GRADIENT = frozenset(
    "round round_ floor floor_ ceil ceil_ trunc trunc_ sign sign_ sgn heaviside //".split()
)
"""These have a gradient: it is zero everywhere."""
_FUNCTIONS = frozenset("float int bool".split())
_ANEW = frozenset("tensor from_numpy Tensor FloatTensor LongTensor asarray array".split())
"""They make a tensor (or array) of values, not of a graph."""
_INTEGERS = frozenset("long int int8 int16 int32 int64 uint8 short bool byte".split())
_NUMPY = frozenset({"np", "numpy", "scipy", "math"})
_PLAIN = frozenset(
    """
    shape size dim ndim dtype device numel requires_grad is_leaf grad_fn grad len print format
    isinstance type is_cuda is_contiguous stride zero_grad zeros_like ones_like empty_like
    rand_like randn_like new_zeros new_ones new_full new_empty new_tensor nelement element_size
    data_ptr register_hook retain_grad eval train modules parameters named_parameters state_dict
    """.split()
)
_NO_GRAD = frozenset({"no_grad", "inference_mode", "set_grad_enabled"})


def cutting_call(node: ast.Call) -> Optional[str]:
    """Return the name of the cutting operation that a call is; None if gradients pass."""
    name = call_name(node)
    if isinstance(node.func, ast.Name):
        return name if name in _FUNCTIONS | _ANEW or name in {"round", "argmax"} else None
    if name in _METHODS or name in _ANEW:
        return name
    value = node.func.value if isinstance(node.func, ast.Attribute) else None
    while isinstance(value, ast.Attribute):
        value = value.value
    if isinstance(value, ast.Name) and value.id in _NUMPY:
        return f"{value.id}.{name}"
    return None


def cast_of(node: ast.Call) -> Optional[str]:
    """Return ``long`` for ``x.to(torch.long)``; None if the call is no cast to integers."""
    if call_name(node) not in {"to", "type", "astype", "view_as_dtype"}:
        return None
    for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
        if isinstance(argument, ast.Attribute) and argument.attr in _INTEGERS:
            return argument.attr
        if isinstance(argument, ast.Name) and argument.id in {"int", "bool"}:
            return argument.id
    return None


def cutting_attribute(name: str) -> Optional[str]:
    """Return ``data`` for ``x.data``."""
    return name if name == "data" else None


def is_plain(name: str) -> bool:
    """Tell whether a method or attribute gives nothing that depends on values."""
    return name in _PLAIN


def has_zero_gradient(op: str) -> bool:
    """Tell whether an operation gives gradients of zero instead of none."""
    return op in _ZERO_GRADIENT


def is_no_grad(node: ast.expr) -> Optional[str]:
    """Return ``no_grad`` for ``torch.no_grad()``, also as a decorator without brackets."""
    if isinstance(node, ast.Call):
        name = call_name(node)
    elif isinstance(node, ast.Attribute):
        name = node.attr
    else:
        name = node.id if isinstance(node, ast.Name) else ""
    if name not in _NO_GRAD:
        return None
    if isinstance(node, ast.Call) and node.args:
        first = node.args[0]
        wants = isinstance(first, ast.Constant) and bool(first.value)
        if name == "set_grad_enabled" and wants:
            return None
        if name == "inference_mode" and isinstance(first, ast.Constant) and not first.value:
            return None
    return name
