"""Operands of different or unfit dtypes.

RUNS IN the training process, when an exception is explained.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import Optional

import torch
from torch import Tensor

from zentracer.control import edits
from zentracer.control.source import Place, call_name
from zentracer.frameworks.pytorch.errors.explanation import Explanation
from zentracer.frameworks.pytorch.errors.failure import Failure
from zentracer.frameworks.pytorch.errors.making import Made, first_made
from zentracer.frameworks.pytorch.errors.operands import Operand, operands_of, written_operands
from zentracer.frameworks.pytorch.errors.shape import one_line

LABEL = "Dtype mismatch"
_MESSAGE = re.compile(
    r"must have the same dtype|to have the same dtype|expected scalar type|"
    r"Input type \((?!torch\.cuda).*should be the same|Found dtype \w+ but expected|"
    r"result type \w+ can't be cast|to have one of the following scalar types|"
    r"not implemented for '|tensors used as indices must be|Expected dtype int|"
    r"could not infer output dtype|Only Tensors of floating point|did not match \w+|"
    r"Expected floating point type|expected .*target.* dtype|got mixed dtype|"
    r"operator, with (a|two) bool tensors? is not supported|does not match weight dtype|"
    r"mixed dtype|expected both vectors to have same dtype|"
    r"can't convert np.ndarray of type|Expected (a )?(query|key|value).*dtype"
)
_WANTS_INDICES = re.compile(
    r"indices|[Ee]xpected dtype int|expected scalar type Long|index|target dtype|Long or Byte"
)
_CASTS = {
    torch.float32: "float()", torch.float64: "double()", torch.float16: "half()",
    torch.bfloat16: "bfloat16()", torch.int64: "long()", torch.int32: "int()",
}  # fmt: skip
_SPOKEN = {
    "float": torch.float32, "double": torch.float64, "half": torch.float16,
    "bfloat16": torch.bfloat16, "long": torch.int64, "int": torch.int32, "int64": torch.int64,
}  # fmt: skip


def explain(failure: Failure) -> Optional[Explanation]:
    """Explain an exception about dtypes."""
    if not _MESSAGE.search(failure.message):
        return None
    given = operands_of(failure)
    said = Explanation(LABEL, "", op=_op(failure))
    odd, wanted = _odd(failure, given)
    reason = one_line(failure.message)
    if odd is None:
        said.text = f"{_listed(given)}: {reason}" if given else f"The dtypes do not fit: {reason}"
        _general(said)
        return said
    said.blamed = odd
    line = first_made(failure, odd.value)
    others = [one for one in given if one is not odd]
    said.text = f"{odd.called} is {dtype_name(odd.value)}"
    if wanted is torch.int64:
        said.text += ", but labels and indices must be int64."
    else:
        said.text += f", while {_listed(tuple(others))}." if others else f": {reason}"
    if line is not None:
        how = _maker(line)
        said.fact(f"{line.name} became {dtype_name(odd.value)} here{how}", line.location)
    _cast(failure, said, odd, wanted, line)
    return said


def _op(failure: Failure) -> str:
    if failure.called is not None:
        return type(failure.called).__name__
    return call_name(failure.source.node) if failure.source.node is not None else ""


def _odd(
    failure: Failure, given: tuple[Operand, ...]
) -> tuple[Optional[Operand], Optional[torch.dtype]]:
    """Return the operand whose dtype does not fit, and the dtype that would."""
    message = failure.message
    if _WANTS_INDICES.search(message):
        indices = [one for one in given if one.role in ("target", "index", "indices")]
        if not indices and failure.called is not None:
            indices = [one for one in given if not one.is_parameter]
        for one in indices or given:
            if one.value.dtype is not torch.int64 and not one.is_parameter:
                return one, torch.int64
    found = re.search(r"not implemented for '(\w+)'", message)
    if found is not None:
        bad = _SPOKEN.get(found[1].lower())
        one = next((one for one in given if one.value.dtype is bad), None)
        fits = None if one is None or one.value.is_floating_point() else torch.float32
        return one, fits or (torch.float32 if one is not None else None)
    floats = [one for one in given if one.value.is_floating_point()]
    parameters = [one for one in floats if one.is_parameter]
    if parameters:
        wanted = parameters[0].value.dtype
        odd = next((x for x in given if x.value.dtype is not wanted and not x.is_parameter), None)
        return odd, wanted
    return _rarest(message, given)


def _rarest(
    message: str, given: tuple[Operand, ...]
) -> tuple[Optional[Operand], Optional[torch.dtype]]:
    kinds = Counter(one.value.dtype for one in given)
    if len(kinds) < 2:
        integers = [one for one in given if not one.value.is_floating_point()]
        needs_float = re.search(r"floating point|could not infer|result type Float", message)
        return (integers[0], torch.float32) if integers and needs_float else (None, None)
    default = torch.get_default_dtype()
    wanted = default if default in kinds else kinds.most_common(1)[0][0]
    odd = next((one for one in given if one.value.dtype is not wanted), None)
    return odd, wanted


def dtype_name(x: Tensor) -> str:
    """Return ``float64``."""
    return str(x.dtype).rpartition(".")[2]


def _listed(given: tuple[Operand, ...]) -> str:
    parts = [f"{one.called} is {dtype_name(one.value)}" for one in given[:4]]
    return ", ".join([*parts[:-2], " and ".join(parts[-2:])]) if parts else ""


def _maker(line: Made) -> str:
    """Name what in the line makes float64 or such."""
    value = getattr(line.statement, "value", None)
    if isinstance(value, ast.Call):
        name = call_name(value)
        if name in ("from_numpy", "as_tensor", "tensor"):
            return f", by {name}, which keeps the dtype of its data"
        if name in ("double", "half", "long", "int", "float", "to"):
            return f", by .{name}()"
        return f", by {name}"
    return ""


def _cast(
    failure: Failure, said: Explanation, odd: Operand, wanted: Optional[torch.dtype],
    line: Optional[Made],
) -> None:  # fmt: skip
    call = _CASTS.get(wanted) if wanted is not None else None
    if call is None:
        _general(said)
        return
    edit = None
    if line is not None and line.module is not None:
        value = getattr(line.statement, "value", None)
        if isinstance(line.statement, ast.Assign) and isinstance(value, ast.Call):
            place = Place(line.location, line.module, None)
            edit = edits.replace(place, value, edits.call_method(line.module, value, call))
    if edit is None:
        edit = _cast_here(failure, odd, call)
    name = odd.called
    why = f"{name} is {dtype_name(odd.value)}; {str(wanted).rpartition('.')[2]} is what fits."
    if odd.value.dtype is torch.float64:
        why += " NumPy makes float64 by default."
    said.suggest(f"Convert {name} with .{call}", why, edit)


def _cast_here(failure: Failure, odd: Operand, call: str) -> object:
    place = failure.source
    if place.module is None or failure.remote is not None:
        return None
    for node in written_operands(failure):
        if place.module.text(node) == odd.name:
            return edits.replace(place, node, edits.call_method(place.module, node, call))
    return None


def _general(said: Explanation) -> None:
    said.suggest(
        "Bring the operands to one dtype",
        "Convert where the tensor is made: .float() for values, .long() for labels and indices.",
    )
