"""How each torch function is treated by the watcher.

RUNS IN the training process. A plan is decided the first time a function is seen and cached, so
that the hot path is one dictionary look-up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

IGNORE, FOLLOW, CHECK = 0, 1, 2
"""Ignore: makes no values. Follow: finite in, finite out; only its line is noted. Check: both."""


@dataclass(frozen=True)
class Plan:
    """What the watcher does around one function."""

    kind: int
    name: str
    """How the function is called in messages, e.g. ``log`` or ``cross_entropy``."""
    in_place: bool
    """Whether the first argument is overwritten."""
    tame: bool = False
    """Whether it makes NaN or Inf out of finite numbers only where they overflow."""
    writes: bool = False
    """Whether a tensor is changed in place, be it by ``x[...] = y``."""
    compiled: bool = False
    """Whether it is a region of compiled code rather than one function."""

    @property
    def is_loss(self) -> bool:
        """Whether it is one of torch's loss functions."""
        return self.name.endswith(("loss", "cross_entropy", "with_logits", "loss_nd"))


# Finite inputs give finite outputs: they move, select, mask or compare. Ops that fill in a constant
# (masked_fill, full, where …) belong here too: an infinity that somebody wrote down is intended.
_FOLLOWED = frozenset(
    """
    abs absolute adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d alias amax amin
    aminmax argmax argmin argsort as_strided as_tensor asarray atleast_1d atleast_2d atleast_3d
    broadcast_tensors broadcast_to cat ceil channel_shuffle chunk clamp clamp_max clamp_min clip
    clone column_stack concat concatenate conj constant_pad_nd contiguous copy_ copysign cpu cuda
    cummax cummin data deepcopy __deepcopy__ detach detach_ diag diag_embed diagonal
    diagonal_scatter dropout alpha_dropout feature_dropout dropout1d dropout2d dropout3d dstack
    embedding empty empty_like empty_permuted empty_strided expand expand_as eye fill fill_
    flatten flip fliplr flipud floor fmax fmin fold frac from_numpy frombuffer full full_like
    gather hardtanh hsplit hstack imag index_add index_copy index_fill index_fill_ index_put
    index_put_ index_select item kthvalue leaky_relu masked_fill masked_fill_ masked_scatter
    masked_scatter_ masked_select max max_pool1d max_pool2d max_pool3d maximum median meshgrid min
    minimum mode moveaxis movedim msort nan_to_num nan_to_num_ nanmedian narrow neg negative
    new new_empty new_full new_ones new_tensor new_zeros normal_ numpy one_hot ones ones_like pad
    permute pin_memory positive put put_ rand rand_like randint randint_like randn randn_like
    random_ randperm ravel real relu relu6 relu_ repeat repeat_interleave requires_grad_ reshape
    reshape_as resize_ resize_as_ resolve_conj resolve_neg roll rot90 round rrelu scalar_tensor
    scatter scatter_ select select_scatter set_ sgn share_memory_ sigmoid sigmoid_ sign silu
    slice_scatter softsign sort split split_with_sizes squeeze squeeze_ stack swapaxes swapdims t
    t_ take take_along_dim tanh tanh_ tensor tensor_split tile tolist topk transpose transpose_
    tril triu trunc unbind unflatten unfold uniform_ unsafe_chunk unsafe_split unsqueeze
    unsqueeze_ view view_as view_as_complex view_as_real vsplit vstack where zero_ zeros
    zeros_like __getitem__ __setitem__ __neg__ __abs__ unpool hardsigmoid hardswish logsigmoid elu
    celu selu gelu mish softplus threshold log_softmax_backward_data sparse_coo_tensor to_sparse
    coalesce native_dropout pack_padded_sequence rsub_mask bernoulli bernoulli_ multinomial
    exponential_ bitwise_not pixel_shuffle pixel_unshuffle interpolate_nearest upsample_nearest
    triu_indices tril_indices
    """.split()
)

# Not values at all: bookkeeping, comparisons, printing, guards.
_IGNORED = frozenset(
    """
    __repr__ __str__ __format__ __len__ __iter__ __hash__ __bool__ __int__ __float__ __index__
    __contains__ __reduce_ex__ __dir__ __array__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __and__
    __or__ __xor__ __invert__ __setstate__ __array_wrap__ allclose backward grad dim dense_dim
    data_ptr element_size eq equal ge get_device gt is_coalesced is_complex is_conj is_contiguous
    is_distributed is_floating_point is_inference is_leaf is_neg is_nonzero is_pinned is_same_size
    is_set_to is_shared is_signed isclose isfinite isin isinf isnan isneginf isposinf isreal le
    logical_and logical_not logical_or logical_xor lt ndimension ne nelement nonzero numel
    register_hook register_post_accumulate_grad_hook requires_grad retain_grad size sparse_dim
    storage storage_offset storage_type stride typed_storage untyped_storage unique
    unique_consecutive bincount histc histogram _set_grad_enabled set_grad_enabled
    _record_function_enter_new _record_function_exit get_default_dtype set_default_dtype
    result_type promote_types can_cast finfo iinfo _is_view _version _nnz share_memory any all
    manual_seed seed initial_seed compile script trace save load use_deterministic_algorithms
    _has_compatible_shallow_copy_type
    """.split()
)

# These overflow or pass on what they are given, and what they make is often large. With a graph to
# look back through, the next operation that is checked tells (see upstream.py).
LARGE = 65_536
"""Elements below which a look is cheaper than thinking about it."""
_TAME = frozenset(
    """
    add addmm baddbmm batch_norm bmm conv1d conv2d conv3d conv_transpose1d conv_transpose2d
    conv_transpose3d linear matmul mm mul sub
    """.split()
)

_NOT_IN_PLACE = ("__int__", "__index__", "__invert__", "__iter__")
known_plans: dict[Any, Plan] = {}
"""Plans by function, for the hot path."""
_MAX_PLANS = 4096


def plan_for(func: Callable[..., Any]) -> Plan:
    """Return the plan of ``func``, deciding it on first sight."""
    try:
        plan = known_plans.get(func)
    except TypeError:  # a callable of the user's without a hash
        return _decide(func)
    if plan is None:
        plan = _decide(func)
        if len(known_plans) < _MAX_PLANS:
            known_plans[func] = plan
    return plan


def _decide(func: Callable[..., Any]) -> Plan:
    if type(func).__name__ == "method-wrapper":  # a property of Tensor: x.grad, x.shape …
        return Plan(IGNORE, getattr(func, "__name__", "property"), False)
    name = getattr(func, "__name__", None) or type(func).__name__
    base = name.strip("_")
    if name in _IGNORED or base in _IGNORED or "record_function" in name:
        kind = IGNORE
    elif name in _FOLLOWED or base in _FOLLOWED:
        kind = FOLLOW
    else:
        kind = CHECK
    plain = readable(name)
    in_place = is_in_place(name)
    writes = in_place or name == "__setitem__"
    return Plan(kind, plain, in_place, tame=plain in _TAME, writes=writes)


def is_in_place(name: str) -> bool:
    """Tell whether a function of this name overwrites its first argument."""
    if name.startswith("__"):
        return name.startswith("__i") and name not in _NOT_IN_PLACE
    return name.endswith("_") and not name.endswith("__")


_OPERATORS = {
    "truediv": "div", "rtruediv": "div", "rdiv": "div", "itruediv": "div", "idiv": "div",
    "radd": "add", "iadd": "add", "rsub": "sub", "isub": "sub", "rmul": "mul", "imul": "mul",
    "rpow": "pow", "ipow": "pow", "rmatmul": "matmul", "linalg_norm": "norm",
    "linalg_vector_norm": "norm", "vector_norm": "norm",
}  # fmt: skip


def readable(name: str) -> str:
    """Return the plain name of an operation: ``__truediv__`` and ``div_`` read as ``div``."""
    plain = name.strip("_")
    return _OPERATORS.get(plain, plain) or name
