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

from zentracer.frameworks.pytorch.live import children_of, held_by

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
    for name, candidate in named_modules(root):
        if candidate is module:
            return stripped(name) or type(module).__name__
    return type(module).__name__


def root_modules() -> list[nn.Module]:
    """Return the live modules that are no part of another, biggest first."""
    found = [obj for obj in gc.get_objects() if issubclass(type(obj), nn.Module)]
    inner = {id(child) for module in found for _, child in children_of(module)}
    roots = [module for module in found if id(module) not in inner]
    return sorted(roots, key=lambda module: -sum(1 for _ in named_modules(module)))


def named_modules(root: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Yield the names and modules of a model, itself first, in the order of its own method.

    Of its dictionaries: a model of the user's may have such a method that raises.
    """
    seen: set[int] = set()
    stack = [("", root)]
    while stack:
        name, module = stack.pop()
        if id(module) in seen:
            continue
        seen.add(id(module))
        yield name, module
        prefix = f"{name}." if name else ""
        stack += [(prefix + key, child) for key, child in reversed(children_of(module))]


def has_parameters(root: nn.Module) -> bool:
    """Tell whether a model has a parameter."""
    return any(
        parameter is not None
        for _, module in named_modules(root)
        for _, parameter in held_by(module, "_parameters")
    )


def owner_of(tensor: Tensor, roots: list[nn.Module]) -> Owner | None:
    """Return where ``tensor`` is registered as a parameter or buffer."""
    for root in roots:
        for name, module in named_modules(root):
            for table in (dict(held_by(module, "_parameters")), dict(held_by(module, "_buffers"))):
                for attribute, candidate in table.items():
                    if candidate is tensor:
                        return Owner(stripped(name), module, attribute)
    return None


def modules_running(code: types.CodeType, roots: list[nn.Module]) -> list[tuple[str, nn.Module]]:
    """Return the named modules that have a method compiled to ``code``."""
    found: list[tuple[str, nn.Module]] = []
    for root in roots:
        for name, module in named_modules(root):
            method = getattr(type(module), code.co_name, None)
            if getattr(method, "__code__", None) is code:
                found.append((stripped(name) or type(module).__name__, module))
    return found


def stripped(name: str) -> str:
    """Drop the prefixes of torch.compile and DistributedDataParallel."""
    for prefix in _WRAPPERS:
        name = name.removeprefix(prefix) if hasattr(name, "removeprefix") else name
    return "" if name in {"_orig_mod", "module"} else name


def is_library(module: nn.Module) -> bool:
    """Tell whether the class of ``module`` comes with torch."""
    return type(module).__module__.split(".")[0] == torch.__name__
