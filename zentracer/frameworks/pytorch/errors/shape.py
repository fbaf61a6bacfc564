"""Operands whose shapes do not go together: matmul, linear, conv, cat, broadcast, view, loss.

RUNS IN the training process, when an exception is explained.
"""

from __future__ import annotations

import re
from typing import Optional

from zentracer.frameworks.pytorch.errors import shape_fixes
from zentracer.frameworks.pytorch.errors.explanation import Explanation
from zentracer.frameworks.pytorch.errors.failure import Failure
from zentracer.frameworks.pytorch.errors.lookup import shape_of
from zentracer.frameworks.pytorch.errors.making import history, made, shape_text
from zentracer.frameworks.pytorch.errors.operands import Operand, module_name, operands_of
from zentracer.frameworks.pytorch.errors.wanted import wanted

LABEL = "Shape mismatch"

_KINDS: tuple[tuple[str, str], ...] = (
    # (what torch says, the operation where the traceback does not tell)
    (r"mat1 and mat2 shapes cannot be multiplied", "matmul"),
    (r"mat1 dim 1 must match mat2 dim 0", "matmul"),
    (r"size mismatch, (got|m1)", "matmul"),
    (r"inconsistent tensor size, expected", "matmul"),
    (r"must have same reduction dim", "matmul"),
    (r"Expected size for first two dimensions of batch2", "bmm"),
    (r"(batch[12]|mat2|vector|self) must be (a |an )?(\dD )?(tensor|matrix|3D)", "matmul"),
    (r"both arguments to (linear|matmul) need", "matmul"),
    (r"expected input(\[[^\]]*\])? to have \d+ channels", "conv"),
    (r"Expected \dD.*(input|tensor).* to conv", "conv"),
    (r"Kernel size can't be greater than actual input size", "conv"),
    (r"Output size is too small", "pool"),
    (r"input\.size\(-1\) must be equal to input_size", "rnn"),
    (r"input must have 3 dimensions|Expected hidden(\[\d\])? size", "rnn"),
    (r"(RNN|LSTM|GRU): Expected input to be \dD", "rnn"),
    (r"Sizes of tensors must match except in dimension", "cat"),
    (r"Tensors must have same number of dimensions", "cat"),
    (r"stack expects each tensor to be equal size", "stack"),
    (r"The size of tensor a \(\d+\) must match", "broadcast"),
    (r"expanded size of the tensor|number of sizes provided", "expand"),
    (r"doesn't match the broadcast shape", "broadcast"),
    (r"shape '\[[^\]]*\]' is invalid for input of size", "view"),
    (r"view size is not compatible with input tensor's size and stride", "view"),
    (r"cannot reshape tensor of", "view"),
    (r"unflatten: Provided sizes", "unflatten"),
    (r"Expected target size", "loss"),
    (r"Expected input batch_size \(\d+\) to match target batch_size", "loss"),
    (r"[Tt]arget size \(torch\.Size.*(input size|must be the same)", "loss"),
    (r"(multi-target not supported|only batches of spatial targets|input and target (batch or )?"
     r"(spatial )?(sizes|shapes) don't match|0D or 1D target)", "loss"),
    (r"expected input with shape \[\*", "norm"),
    (r"divisible by num_groups", "norm"),
    (r"running_mean should contain \d+ elements", "norm"),
    (r"expected \d.*D (or \d.*D )?input \(got \d+D input\)", "norm"),
    (r"was expecting embedding dimension of|shape of the (\dD )?attn_mask", "attention"),
    (r"shape of the mask \[", "index"),
    (r"shape mismatch: (indexing|value) tensor", "index"),
    (r"einsum\(\):", "einsum"),
    (r"Dimension out of range|number of dim.* (don't|doesn't|in the tensor input)", "dimension"),
    (r"split_with_sizes expects", "split"),
    (r"too many indices for tensor", "index"),
    (r"element tensors? can be converted to Python scalars|elements? cannot be converted to Scalar",
     "item"),
    (r"Boolean value of Tensor with more than one value is ambiguous", "bool"),
    (r"Index tensor must have the same number of dim", "index"),
    (r"Size does not match at dimension \d+ expected index", "index"),
)  # fmt: skip


def explain(failure: Failure) -> Optional[Explanation]:
    """Explain an exception about shapes."""
    kind = next((op for text, op in _KINDS if re.search(text, failure.message)), None)
    if kind is None:
        return None
    given = operands_of(failure)
    said = Explanation(LABEL, "", op=kind)
    _sentence(failure, said, kind, given)
    if kind not in ("cat", "stack", "item", "bool", "dimension"):
        _tell_history(failure, said, given)
    shape_fixes.suggest(failure, said, kind, given)
    return said


def _sentence(failure: Failure, said: Explanation, kind: str, given: tuple[Operand, ...]) -> None:
    if kind == "view" and "not compatible" in failure.message:
        said.text = (
            f"{named(given[:1]) or 'The tensor'} is not contiguous, so view cannot divide it anew."
        )
        return
    if failure.called is not None and given:
        said.text = _module_sentence(failure, said, given)
        if said.text:
            return
    sizes = matrix_sizes(failure.message)
    shapes = named(given)
    if kind in ("matmul", "bmm") and sizes is not None:
        (rows, inner), (wanted, columns) = sizes
        operands = f"{shapes}: " if shapes else ""
        said.text = (
            f"{operands}a matrix of {rows}x{inner} cannot be multiplied by one of "
            f"{wanted}x{columns}, since {inner} is not {wanted}."
        )
        return
    reason = one_line(failure.message)
    said.text = f"{shapes} do not fit: {reason}" if len(given) > 1 else f"{shapes}: {reason}"
    if not shapes:
        said.text = f"The shapes do not fit: {reason}"


def _module_sentence(failure: Failure, said: Explanation, given: tuple[Operand, ...]) -> str:
    """Say what the module was given and what it wants."""
    module = failure.called
    assert module is not None
    said.op = type(module).__name__
    if "hidden" in failure.message:
        return ""  # it is about another operand than the input
    first = next((one for one in given if not one.is_parameter), given[0])
    said.blamed = first
    got = shape_of(first.value)
    fixed = wanted(module, len(got))
    if fixed is None or got[fixed.axis] == fixed.size:
        return ""
    name = module_name(failure, module)
    return (
        f"{first.called} is {shape_text(got)}: its {fixed.word} dimension is {got[fixed.axis]}, "
        f"but {name if name == said.op else f'{name} ({said.op})'} wants {fixed.size} there "
        f"({fixed.title}={fixed.size})."
    )


def _tell_history(failure: Failure, said: Explanation, given: tuple[Operand, ...]) -> None:
    first = said.blamed or next((one for one in given if not one.is_parameter), None)
    if first is None:
        return
    steps = history(failure, first.value)
    line = made(failure, first.value)
    if len(steps) > 1:
        text = f"Shapes on the way to {first.called}: {' -> '.join(steps)}"
        said.fact(text, line.location if line is not None else None)


def matrix_sizes(message: str) -> Optional[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the sizes of both matrices in torch's message."""
    found = re.search(r"\((\d+)x(\d+) and (\d+)x(\d+)\)", message)
    found = found or re.search(r"got \[(\d+), (\d+)\] X \[(\d+), (\d+)\]", message)
    found = found or re.search(r"m1: \[(\d+) x (\d+)\], m2: \[(\d+) x (\d+)\]", message)
    if found is None:
        return None
    a, b, c, d = map(int, found.groups())
    return (a, b), (c, d)


def named(given: tuple[Operand, ...]) -> str:
    """Return ``h [8, 1152] and fc.weight [10, 512]``."""
    parts = [f"{one.called} {shape_text(shape_of(one.value))}" for one in given[:4]]
    return ", ".join([*parts[:-2], " and ".join(parts[-2:])]) if parts else ""


def one_line(message: str, longest: int = 240) -> str:
    """Return the first sentence or two of torch's own message."""
    text = " ".join(message.split())
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
