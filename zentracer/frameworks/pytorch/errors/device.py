"""Operands on different devices, and memory that ran out.

RUNS IN the training process, when an exception is explained. No tensor is read or moved: the
device may be beyond use.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Optional

from torch import Tensor

from zentracer.frameworks.pytorch.errors.explanation import Explanation
from zentracer.frameworks.pytorch.errors.failure import Failure
from zentracer.frameworks.pytorch.errors.making import made
from zentracer.frameworks.pytorch.errors.operands import Operand, module_name, operands_of

_DEVICES = re.compile(
    r"Expected all tensors to be on the same device|Input type \(torch\.cuda.*should be the same|"
    r"Input type \(torch\.FloatTensor\) and weight type \(torch\.cuda|"
    r"indices should be either on cpu or on the same device|"
    r"Expected (a )?'?\w+'? device type for generator|unhandled device|"
    r"is on (cpu|cuda:\d|meta|mps|xpu)\S*,? (but )?(expected|different)|"
    r"Tensor on device \S+ is not on the expected device"
)
_MEMORY = re.compile(
    r"(CUDA|HIP|XPU|MPS|DefaultCPUAllocator).*(out of memory|can't allocate|not enough)"
)
_TRIED = re.compile(r"[Tt]ried to allocate (?P<size>[\d.]+ \w+)")
_NO_GPU = re.compile(
    r"Attempting to deserialize object on a CUDA device|Torch not compiled with CUDA enabled|"
    r"No CUDA GPUs are available|Found no NVIDIA driver"
)


def explain(failure: Failure) -> Optional[Explanation]:
    """Explain an exception about devices."""
    if _MEMORY.search(failure.message):
        return _memory(failure)
    if _NO_GPU.search(failure.message):
        return _no_gpu()
    return _devices(failure) if _DEVICES.search(failure.message) else None


def _devices(failure: Failure) -> Explanation:
    given = operands_of(failure)
    said = Explanation("Device mismatch", "", op=_op(failure))
    odd, wanted = _odd(given)
    if odd is None:
        said.text = f"The operands are on different devices: {_short(failure.message)}"
    else:
        others = [one for one in given if one is not odd]
        rest = ", ".join(f"{one.called} is on {device_of(one.value)}" for one in others[:3])
        said.text = f"{odd.called} is on {device_of(odd.value)}, while {rest}."
        said.blamed = odd
        line = made(failure, odd.value)
        if line is not None:
            said.fact(f"{line.name} was made here", line.location)
    name = odd.called if odd is not None else "the operands"
    if odd is not None and odd.is_parameter:
        module = failure.module
        title = module_name(failure, module) if module is not None else name
        said.suggest(
            f"Move {title} with the model",
            "A module follows model.to(device) when it is assigned to an attribute of a Module or "
            "kept in nn.ModuleList; a plain list or a tensor attribute is left behind "
            "(register_buffer takes tensors along).",
        )
    said.suggest(
        f"Move {name} to {wanted or 'one device'}",
        "Use .to(device) where it is made: for a batch right after the loader, for a new tensor by "
        "device=x.device.",
    )
    return said


def _op(failure: Failure) -> str:
    return type(failure.called).__name__ if failure.called is not None else "device"


def device_of(x: Tensor) -> str:
    """Return ``cuda:0``."""
    return str(x.device)


def _odd(given: tuple[Operand, ...]) -> tuple[Optional[Operand], str]:
    """Return the operand that is alone on its device, and the device of the others."""
    kinds = Counter(device_of(one.value) for one in given)
    if len(kinds) < 2:
        return None, ""
    parameters = [one for one in given if one.is_parameter]
    wanted = device_of(parameters[0].value) if parameters else kinds.most_common(1)[0][0]
    if parameters and wanted == "cpu":
        wanted = next(kind for kind in kinds if kind != "cpu")
    return next((one for one in given if device_of(one.value) != wanted), None), wanted


def _memory(failure: Failure) -> Explanation:
    said = Explanation("Out of memory", "", op=_op(failure), operands=())
    size = _TRIED.search(failure.message)
    wanted = f"the {size['size']} that this line asked for" if size else "what this line asked for"
    said.text = f"The device has no room for {wanted}."
    said.suggest(
        "Use less memory in this step",
        "A smaller batch with gradient accumulation, mixed precision (torch.autocast), or "
        "torch.utils.checkpoint for the large layers.",
    )
    said.suggest(
        "See whether it grows",
        "If it runs out only after many steps, something is kept: a loss that is summed with its "
        "graph (use .item()), outputs in a list, evaluation without torch.no_grad().",
    )
    return said


def _no_gpu() -> Explanation:
    said = Explanation("No such device", "", op="device", operands=())
    said.text = "The program asks for a CUDA device, and PyTorch has none here."
    said.suggest(
        "Choose the device by what there is",
        'device = "cuda" if torch.cuda.is_available() else "cpu"; torch.load takes '
        "map_location=device.",
    )
    return said


def _short(message: str) -> str:
    return " ".join(message.split())[:200]
