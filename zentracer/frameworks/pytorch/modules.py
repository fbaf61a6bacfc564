"""Names of modules and parameters, found when there is something to report.

RUNS IN the training process. Nothing is recorded in passing: modules are read from the frames of
``Module.__call__`` on the stack, or looked up among the live objects.
"""

from __future__ import annotations

import gc
import types
from dataclasses import dataclass
from typing import Iterator

import torch
from torch import Tensor, nn

_CALL_CODES = frozenset({nn.Module._call_impl.__code__})
_WRAPPERS = ("_orig_mod.", "module.")


@dataclass(frozen=True)
class Owner:
    """Where a parameter or buffer lives."""

    module_name: str
    module: nn.Module
    attribute: str

    @property
    def name(self) -> str:
        """The qualified name of the tensor."""
        return f"{self.module_name}.{self.attribute}" if self.module_name else self.attribute


def modules_on_stack(frame: types.FrameType | None) -> list[nn.Module]:
    """Return the modules whose forward is running, innermost first."""
    found: list[nn.Module] = []
    while frame is not None:
        if frame.f_code in _CALL_CODES:
            module = frame.f_locals.get("self")
            if isinstance(module, nn.Module):
                found.append(module)
        frame = frame.f_back
    return found


def qualified_name(module: nn.Module, root: nn.Module) -> str:
    """Return the name of ``module`` below ``root``; the class name for the root itself."""
    for name, candidate in root.named_modules():
        if candidate is module:
            return stripped(name) or type(module).__name__
    return type(module).__name__


def root_modules() -> list[nn.Module]:
    """Return the live modules that are no part of another, biggest first."""
    found = [obj for obj in gc.get_objects() if issubclass(type(obj), nn.Module)]
    inner = {id(child) for module in found for child in _children(module)}
    roots = [module for module in found if id(module) not in inner]
    return sorted(roots, key=lambda module: -sum(1 for _ in module.modules()))


def owner_of(tensor: Tensor, roots: list[nn.Module]) -> Owner | None:
    """Return where ``tensor`` is registered as a parameter or buffer."""
    for root in roots:
        for name, module in root.named_modules():
            for table in (module._parameters, module._buffers):
                for attribute, candidate in table.items():
                    if candidate is tensor:
                        return Owner(stripped(name), module, attribute)
    return None


def modules_running(code: types.CodeType, roots: list[nn.Module]) -> list[tuple[str, nn.Module]]:
    """Return the named modules that have a method compiled to ``code``."""
    found: list[tuple[str, nn.Module]] = []
    for root in roots:
        for name, module in root.named_modules():
            method = getattr(type(module), code.co_name, None)
            if getattr(method, "__code__", None) is code:
                found.append((stripped(name) or type(module).__name__, module))
    return found


def _children(module: nn.Module) -> Iterator[nn.Module]:
    for child in module._modules.values():
        if child is not None:
            yield child


def stripped(name: str) -> str:
    """Drop the prefixes of torch.compile and DistributedDataParallel."""
    for prefix in _WRAPPERS:
        name = name.removeprefix(prefix) if hasattr(name, "removeprefix") else name
    return "" if name in {"_orig_mod", "module"} else name


def is_library(module: nn.Module) -> bool:
    """Tell whether the class of ``module`` comes with torch."""
    return type(module).__module__.split(".")[0] == torch.__name__
