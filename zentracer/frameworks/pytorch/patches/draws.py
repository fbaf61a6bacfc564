"""Random and constant numbers that parameters begin with.

RUNS IN the training process, inside ``unseen()``. None of the user's generators is asked.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Sequence

import torch
from torch import Tensor, nn
from torch.nn import init

from zentracer.frameworks.pytorch.patches.operations import own_generator

_NORMS = (
    nn.LayerNorm,
    nn.GroupNorm,
    nn.modules.batchnorm._NormBase,
    *((nn.RMSNorm,) if hasattr(nn, "RMSNorm") else ()),
)
_STATISTICS = {"running_mean": 0.0, "running_var": 1.0, "num_batches_tracked": 0.0}
_RECURRENT = (nn.RNNBase, nn.RNNCellBase)
_EMBEDDINGS = (nn.Embedding, nn.EmbeddingBag)
_CONVOLUTIONS = (nn.modules.conv._ConvNd,)
_IN_ATTENTION = nn.modules.linear.NonDynamicallyQuantizableLinear
"""The last layer of ``MultiheadAttention``, whose bias begins at zero."""


class Draw(NamedTuple):
    """How the elements of a tensor are drawn."""

    kind: str
    """uniform, normal, truncated, orthogonal or constant"""
    numbers: tuple[float, ...]
    """Bounds; mean and deviation (and bounds); gain; the constant."""
    statement: str
    """The same in Python, with ``{}`` for the tensor."""
    zero_row: int | None = None
    """The row of an embedding that stays zero."""

    @property
    def is_of_the_whole(self) -> bool:
        """Whether a part cannot be drawn by itself."""
        return self.kind == "orthogonal" or self.zero_row is not None

    def sample(self, shape: Sequence[int]) -> Tensor:
        """Return such numbers on the CPU."""
        x = torch.empty(tuple(shape), dtype=torch.float32)
        generator = own_generator()
        if self.kind == "uniform":
            x.uniform_(*self.numbers, generator=generator)
        elif self.kind == "normal":
            x.normal_(*self.numbers, generator=generator)
        elif self.kind == "truncated":
            _truncated(x, *self.numbers, generator=generator)
        elif self.kind == "orthogonal":
            x = _orthogonal(x, self.numbers[0], generator)
        else:
            x.fill_(self.numbers[0])
        if self.zero_row is not None:
            x[self.zero_row] = 0
        return x


def uniform(low: float, high: float) -> Draw:
    """Between two bounds."""
    return Draw("uniform", (low, high), f"torch.nn.init.uniform_({{}}, {low:.8g}, {high:.8g})")


def normal(mean: float, std: float) -> Draw:
    """Of a mean and a standard deviation."""
    return Draw("normal", (mean, std), f"torch.nn.init.normal_({{}}, {mean:.8g}, {std:.8g})")


def constant(number: float) -> Draw:
    """All the same."""
    return Draw("constant", (number,), f"torch.nn.init.constant_({{}}, {number:.8g})")


def own(module: nn.Module, attribute: str) -> Draw | None:
    """Return what a layer of torch's draws in its own ``reset_parameters``; None for others."""
    if not _is_unchanged(module):
        return None
    weight = getattr(module, "weight", None)
    if isinstance(module, (nn.Linear, *_CONVOLUTIONS)) and isinstance(weight, Tensor):
        bound = 1 / math.sqrt(max(1, fans(None, weight)[0]))
        if attribute == "weight":  # Kaiming's with a² = 5 has this bound
            statement = "torch.nn.init.kaiming_uniform_({}, a=5**0.5)"
            return Draw("uniform", (-bound, bound), statement)
        return constant(0) if isinstance(module, _IN_ATTENTION) else uniform(-bound, bound)
    if isinstance(module, nn.Bilinear):
        bound = 1 / math.sqrt(max(1, module.in1_features))
        return uniform(-bound, bound)
    if isinstance(module, _EMBEDDINGS):
        return normal(0, 1)._replace(zero_row=module.padding_idx)
    if isinstance(module, _RECURRENT):
        bound = 1 / math.sqrt(max(1, module.hidden_size))
        return uniform(-bound, bound)
    if isinstance(module, nn.PReLU):
        return constant(module.init)
    if isinstance(module, _NORMS):
        return constant(_STATISTICS.get(attribute, float(attribute == "weight")))
    if isinstance(module, nn.MultiheadAttention):
        return _of_attention(module, attribute)
    return None


def fans(module: nn.Module | None, weight: Tensor) -> tuple[int, int]:
    """Return how many inputs an output sums up, and how many outputs an input goes into.

    Of a grouped or transposed convolution as it computes; else as ``torch.nn.init`` has it, which
    takes the length of an embedding's row for its fan.
    """
    field = math.prod(weight.shape[2:])
    if isinstance(module, _CONVOLUTIONS):
        groups = module.groups
        return module.in_channels // groups * field, module.out_channels // groups * field
    return weight.shape[1] * field, weight.shape[0] * field


def _is_unchanged(module: nn.Module) -> bool:
    """Tell whether it is initialised as the class of torch's that it is, or derives from."""
    base = next((k for k in type(module).__mro__ if k.__module__.startswith("torch.nn.")), None)
    names = ("reset_parameters", "_reset_parameters")
    return base is not None and all(
        getattr(type(module), name, None) is getattr(base, name, None) for name in names
    )


def _of_attention(module: nn.MultiheadAttention, attribute: str) -> Draw | None:
    if attribute == "in_proj_bias":
        return constant(0)
    weight = dict(module.named_parameters(recurse=False)).get(attribute)
    if weight is None or weight.dim() < 2:
        return None
    fan_in, fan_out = fans(None, weight)
    std = math.sqrt(2 / (fan_in + fan_out))
    if attribute.startswith("bias"):
        return Draw("normal", (0.0, std), "torch.nn.init.xavier_normal_({})")
    bound = math.sqrt(3) * std
    return Draw("uniform", (-bound, bound), "torch.nn.init.xavier_uniform_({})")


def _truncated(
    x: Tensor, mean: float, std: float, low: float, high: float, *, generator: torch.Generator
) -> None:
    """Draw by the inverse of the normal distribution's cumulative one."""
    below, above = (_cumulative((bound - mean) / std) for bound in (low, high))
    x.uniform_(2 * below - 1, 2 * above - 1, generator=generator)
    x.erfinv_().mul_(std * math.sqrt(2)).add_(mean).clamp_(low, high)


def _cumulative(z: float) -> float:
    return (1 + math.erf(z / math.sqrt(2))) / 2


def _orthogonal(x: Tensor, gain: float, generator: torch.Generator) -> Tensor:
    """Return rows, or columns, that are orthogonal (Saxe et al., 2014, as in ``torch.nn.init``)."""
    rows, columns = x.shape[0], x.numel() // x.shape[0]
    flat = x.new_empty((rows, columns)).normal_(generator=generator)
    q, r = torch.linalg.qr(flat if rows >= columns else flat.T)
    q = q * torch.sgn(torch.diagonal(r))  # else not all are equally likely
    return (q if rows >= columns else q.T).reshape(x.shape) * gain


def gain_of(nonlinearity: str, a: float) -> float:
    """Return the gain that ``torch.nn.init`` has for an activation.

    Raises:
        ValueError: it knows no such activation.
    """
    return float(init.calculate_gain(nonlinearity, a))  # type: ignore[arg-type]
