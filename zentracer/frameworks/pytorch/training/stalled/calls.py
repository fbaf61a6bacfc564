"""Modules that are never called.

RUNS IN the training process, when there is something to tell.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Callable, Optional

from torch import nn

from zentracer.control.pydevd.usercode import is_user_code
from zentracer.control.source import ancestors, parsed
from zentracer.frameworks.pytorch.training.stalled.cutting import is_schedule

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.module_tap import ModuleTap

_CONTAINERS = (nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict)


def never_called(
    module: nn.Module,
    parents: dict[int, tuple[nn.Module, str]],
    tap: ModuleTap,
    is_silent: Callable[[nn.Module], bool],
) -> Optional[tuple[nn.Module, str]]:
    """Return who should have called ``module``, and the attribute in which it is kept.

    None where that is no wonder: experts and heads in containers, of which some are chosen; parts
    that are reached under a condition which changes in the course of a training; and parts of a
    model that is not called as a whole.
    """
    part = module
    while True:
        entry = parents.get(id(part))
        if entry is None:
            return None
        parent, name = entry
        if tap.was_called(parent):
            break
        part = parent
        if any(tap.was_called(m) or (not is_silent(m) and _has_own(m)) for m in part.modules()):
            return None
    if isinstance(parent, _CONTAINERS) or isinstance(part, _CONTAINERS) or not name.isidentifier():
        return None
    if not is_user_code(type(parent).forward.__code__) or _is_conditional(parent, name):
        return None
    return parent, name


def _has_own(module: nn.Module) -> bool:
    return any(p is not None and p.requires_grad for p in module._parameters.values())


def parents_below(root: nn.Module) -> dict[int, tuple[nn.Module, str]]:
    """Return the module around each module below ``root``, and the name it has there."""
    found: dict[int, tuple[nn.Module, str]] = {}
    for parent in root.modules():
        for name, child in parent._modules.items():
            if child is not None:
                found.setdefault(id(child), (parent, name))
    return found


def _is_conditional(parent: nn.Module, name: str) -> bool:
    """Tell whether ``self.<name>`` is read under a condition that may change, or by its name."""
    code = type(parent).forward.__code__
    module = parsed(code.co_filename)
    for node in ast.walk(module.tree) if module is not None else ():
        if isinstance(node, ast.Constant) and node.value == name:
            return True
        if not (isinstance(node, ast.Attribute) and node.attr == name) or module is None:
            continue
        if not isinstance(node.ctx, ast.Load):
            continue
        for above in ancestors(module, node):
            if isinstance(above, (ast.If, ast.IfExp)) and is_schedule(above.test):
                return True
    return False
