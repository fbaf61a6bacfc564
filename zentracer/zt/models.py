"""Models by name, and their gradients.

RUNS IN the user's training process. Which objects are models, the loaded frameworks know.
"""

from __future__ import annotations

import difflib
import math
import sys
from typing import Any, Dict, List

from zentracer.observe.kinds import TORCH, array_kind
from zentracer.observe.moments import merge
from zentracer.observe.quiet import quiet
from zentracer.observe.stats import HIT_LIMIT, look
from zentracer.present.attributes import instance_dict
from zentracer.present.kinds import MODULE, OPTIMIZER, kind_of
from zentracer.zt.arrays import module_tensors, parts
from zentracer.zt.errors import ZtError


def grad_norm(x: Any) -> float:
    """Norm of all gradients of ``x``; see ``zt.grad_norm``."""
    found = [
        look(gradient, limit=HIT_LIMIT, sync=True).moments
        for tensor in _parameters(x)
        for gradient in [_gradient(tensor)]
        if gradient is not None
    ]
    total = merge([moments for moments in found if moments is not None])
    if total.nan:
        return math.nan
    return math.inf if total.inf else total.norm


def module(name: str) -> Any:
    """The live module with this name.

    Raises:
        ZtError: there is none.
    """
    found = [module for found, module in _named(_escaped(name)) if found == name]
    if found:
        return found[0]
    raise ZtError(f"zt.module: no live module is called '{name}'.{_hint(name, list(modules('*')))}")


def modules(pattern: str) -> Dict[str, Any]:
    """The live modules whose names fit, the biggest model's first."""
    found: Dict[str, Any] = {}
    for name, module in _named(pattern):
        found.setdefault(name, module)
    return found


def param(name: str) -> Any:
    """The live parameter or buffer with this name.

    Raises:
        ZtError: there is none.
    """
    for framework in _frameworks():
        found = framework.parameters(name)
        if found:
            return found[0]
    raise ZtError(
        f"zt.param: no live parameter or buffer is called '{name}'.{_hint(name, _tensor_names())}"
    )


def _parameters(x: Any) -> List[Any]:
    kind = kind_of(type(x))
    if kind == MODULE:
        return module_tensors(x, buffers=False)
    if kind == OPTIMIZER:
        groups = instance_dict(x).get("param_groups") or []
        return [tensor for group in groups for tensor in group["params"]]
    return list(parts("grad_norm", x))


def _gradient(tensor: Any) -> Any:
    if array_kind(type(tensor)) != TORCH:
        raise ZtError("zt.grad_norm takes a module, an optimiser, parameters or a list of these.")
    with quiet():
        return tensor.grad if tensor.is_leaf or tensor.retains_grad else None


def _named(pattern: str) -> List[Any]:
    found = _frameworks()
    if not found:
        raise ZtError("zt: no framework with models has been imported in this process.")
    return [entry for framework in found for entry in framework.modules_named(pattern)]


def _frameworks() -> List[Any]:
    runtime = getattr(sys.modules.get("zentracer.bootstrap"), "_runtime", None)
    return runtime.frameworks() if runtime is not None else []


def _tensor_names() -> List[str]:
    return [
        f"{name}.{key}" if name else key
        for name, module in modules("*").items()
        for table in ("_parameters", "_buffers")
        for key in instance_dict(module).get(table) or {}
    ]


def _hint(name: str, names: List[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return f" Did you mean '{near[0]}'?"
    some = [name for name in names if name][:5]
    return f" There are {', '.join(some)} …" if some else " No model is alive."


def _escaped(name: str) -> str:
    return "".join(f"[{mark}]" if mark in "*?[" else mark for mark in name)
