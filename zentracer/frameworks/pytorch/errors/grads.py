"""Tensors that need a gradient and have none, or have one and must not.

RUNS IN the training process, when an exception is explained.
"""

from __future__ import annotations

import ast
import re
from typing import Optional

import torch
from torch import Tensor, nn

from zentracer.control import edits
from zentracer.control.source import call_name
from zentracer.frameworks.pytorch.errors.explanation import Explanation
from zentracer.frameworks.pytorch.errors.failure import Failure
from zentracer.frameworks.pytorch.errors.lookup import found, is_module, is_tensor, shape_of
from zentracer.frameworks.pytorch.errors.making import Made, made, shape_text
from zentracer.frameworks.pytorch.errors.operands import operands_of
from zentracer.frameworks.pytorch.live import children_of, held_by

_NO_GRAPH = re.compile(r"does not require grad and does not have a grad_fn")
_NUMPY = re.compile(r"Can't call numpy\(\) on Tensor that requires grad")
_DEVICE_NUMPY = re.compile(r"can't convert \S+ device type tensor to numpy")
_NON_LEAF = re.compile(r"can't optimize a non-leaf Tensor|optimizer got an empty parameter list")
_SCALAR = re.compile(r"grad can be implicitly created only for scalar outputs")
_UNUSED = re.compile(
    r"differentiated Tensors?\b.* (appears to not have been used|does not require)"
)
_CUTS = frozenset({
    "detach", "item", "numpy", "tolist", "argmax", "argmin", "round", "floor", "ceil", "sign",
    "tensor", "as_tensor", "from_numpy", "no_grad", "long", "int", "bool", "eq", "gt", "lt",
})  # fmt: skip
_MOST_MODULES = 10_000
_NO_GRAD = frozenset({"no_grad", "inference_mode", "set_grad_enabled"})


def explain(failure: Failure) -> Optional[Explanation]:
    """Explain a gradient that is missing or in the way."""
    message = failure.message
    if _NO_GRAPH.search(message):
        return _no_graph(failure)
    if _NUMPY.search(message):
        return _numpy(failure, "detach()", "requires grad, and NumPy would lose its graph")
    if _DEVICE_NUMPY.search(message):
        return _numpy(failure, "cpu()", "is on an accelerator, which NumPy cannot read")
    if _NON_LEAF.search(message):
        return _non_leaf(failure)
    if _SCALAR.search(message):
        return _scalar(failure)
    if _UNUSED.search(message):
        return _unused(failure)
    return None


def _no_graph(failure: Failure) -> Explanation:
    said = Explanation("No gradient", "", op="backward", phase="backward", operands=())
    name, x = _receiver(failure)
    line = made(failure, x) if x is not None else None
    said.text = (
        f"{name} does not depend on any parameter that requires grad, so backward has no path."
    )
    if line is not None:
        said.fact(f"{line.name} was made here", line.location)
    cut = _cut(failure, line)
    if cut is not None:
        text, why, at = cut
        said.fact(text, at.location)
        said.origin = at.location
        said.suggest("Keep the graph up to the loss", why)
        return said
    if _inside_no_grad(failure, line):
        said.suggest(
            "Compute the loss outside of torch.no_grad()",
            "Inside no_grad and inference_mode nothing is recorded; keep them for evaluation.",
        )
        return said
    frozen = _frozen(failure)
    if frozen:
        said.fact(f"All parameters of {', '.join(frozen)} have requires_grad False.")
        said.suggest(
            f"Let {frozen[0]} learn",
            f"{frozen[0]}.requires_grad_(True) before the forward, for the part that is to learn.",
        )
        return said
    said.suggest(
        "Look for where the graph ends",
        "detach(), .item(), .data, argmax, comparisons and torch.tensor(...) of computed values "
        "cut it; so do parameters with requires_grad False and torch.no_grad().",
    )
    return said


def _receiver(failure: Failure) -> tuple[str, Optional[Tensor]]:
    """Return the ``loss`` of ``loss.backward()``, by name and value."""
    module, node = failure.source.module, failure.source.node
    if module is not None and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        x = found(node.func.value, failure.user.frame)
        if is_tensor(x) or node.func.attr in ("backward", "numpy"):
            return module.text(node.func.value), x if is_tensor(x) else None
    given = [one for one in operands_of(failure)]
    return (given[0].called, given[0].value) if given else ("The loss", None)


def _cut(failure: Failure, line: Optional[Made]) -> Optional[tuple[str, str, Made]]:
    """Return what cut the graph, searching back from the line that made the loss."""
    seen: set[tuple[str, int]] = set()
    waiting = [line]
    while waiting and len(seen) < 32:
        at = waiting.pop(0)
        if at is None or at.statement is None or (at.location.path, at.location.line) in seen:
            continue
        seen.add((at.location.path, at.location.line))
        value = getattr(at.statement, "value", None)
        for node in ast.walk(value) if isinstance(value, ast.AST) else ():
            name = call_name(node) or (node.attr if isinstance(node, ast.Attribute) else "")
            if name in _CUTS or name == "data":
                what = f".{name}()" if isinstance(node, ast.Call) else f".{name}"
                why = f"{what} leaves the graph out; use the tensor itself to compute the loss."
                return f"{what} cut the graph here", why, at
            bound = found(node, at.spot.frame) if isinstance(node, ast.Name) else None
            if is_tensor(bound):
                waiting.append(made(failure, bound))
    return None


def _inside_no_grad(failure: Failure, line: Optional[Made]) -> bool:
    """Tell whether the line that made the loss, or backward's, stands where nothing is recorded."""
    module = failure.source.module if line is None else line.module
    if module is None:
        return False
    number = failure.user.line if line is None else line.location.line
    return any(
        isinstance(node, ast.With)
        and any(call_name(item.context_expr) in _NO_GRAD for item in node.items)
        and node.lineno < number <= (node.end_lineno or node.lineno)
        for node in ast.walk(module.tree)
    )


def _frozen(failure: Failure) -> list[str]:
    names: list[str] = []
    for spot in failure.users:
        for name, value in list(spot.frame.f_locals.items()):
            if type(name) is not str or not is_module(value) or name == "self":
                continue
            own = _parameters(value)
            if own and not any(p.requires_grad for p in own):
                names.append(name)
    return list(dict.fromkeys(names))[:4]


def _parameters(module: nn.Module) -> list[Tensor]:
    """Return the parameters of a module and of those below it."""
    waiting, found = [module], []
    for one in waiting:  # grows meanwhile
        if len(waiting) > _MOST_MODULES:
            break
        found += [x for _, x in held_by(one, "_parameters") if is_tensor(x)]
        waiting += [child for _, child in children_of(one)]
    return found


def _numpy(failure: Failure, call: str, why: str) -> Explanation:
    said = Explanation("Not for NumPy", "", op="numpy")
    given = operands_of(failure)
    x = next((one for one in given if one.value.requires_grad or not one.value.is_cpu), None)
    name = x.called if x is not None else _receiver(failure)[0]
    shape = f" {shape_text(shape_of(x.value))}" if x is not None else ""
    said.text = f"{name}{shape} {why}."
    said.blamed = x
    place, edit = failure.source, None
    node = place.node
    if place.module is not None and isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr == "numpy":
            target = node.func.value
            edit = edits.replace(place, target, edits.call_method(place.module, target, call))
        elif node.args and found(node.args[0], failure.user.frame) is (x and x.value):
            target = node.args[0]
            edit = edits.replace(place, target, edits.call_method(place.module, target, call))
    said.suggest(
        f"Use {name}.{call} here", "The values are the same; only reading them is meant.", edit
    )
    return said


def _non_leaf(failure: Failure) -> Explanation:
    said = Explanation("Not a leaf", "", op=_optimizer_name(failure), phase="update")
    if "empty" in failure.message:
        said.text = f"{said.op} was given no parameters."
        said.suggest(
            "Register the modules",
            "parameters() sees what is assigned to an attribute of a Module; modules in a plain "
            "list or dict are not seen, nn.ModuleList and nn.ModuleDict are. A generator that was "
            "used before is empty, too.",
        )
        return said
    x = next((one for one in operands_of(failure) if one.value.grad_fn is not None), None)
    inner = [
        value
        for spot in failure.inner
        for value in list(spot.frame.f_locals.values())
        if is_tensor(value) and value.grad_fn is not None
    ]
    value = x.value if x is not None else inner[0] if inner else None
    name = x.called if x is not None else "A tensor in the optimizer's list"
    line = made(failure, value) if value is not None else None
    if line is not None:
        name = line.name
    how = f", made by {value.grad_fn.name()}" if value is not None and value.grad_fn else ""
    said.text = (
        f"{name} is not a leaf{how}: it was computed from other tensors, so it cannot be optimised."
    )
    if line is not None:
        said.origin = line.location
        said.fact(f"{name} was made here", line.location)
    said.suggest(
        f"Make {name} a leaf",
        f"Compute its start value first, then {name} = value.detach().requires_grad_(), or wrap it "
        "in nn.Parameter. x.to(device) and arithmetic after requires_grad=True make a new tensor "
        "that is no leaf.",
    )
    return said


def _optimizer_name(failure: Failure) -> str:
    for spot in failure.inner:
        owner = spot.frame.f_locals.get("self")
        if issubclass(type(owner), torch.optim.Optimizer):
            return type(owner).__name__
    return "optimizer"


def _scalar(failure: Failure) -> Explanation:
    said = Explanation("Loss is no scalar", "", op="backward", phase="backward", operands=())
    name, x = _receiver(failure)
    shape = f" is {shape_text(shape_of(x))}, and" if x is not None else ":"
    said.text = f"{name}{shape} backward starts from one number."
    place, edit, node = failure.source, None, failure.source.node
    if (
        place.module is not None
        and isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
    ):
        target = node.func.value
        edit = edits.replace(place, target, edits.call_method(place.module, target, "mean()"))
    line = made(failure, x) if x is not None else None
    if line is not None:
        said.fact(f"{line.name} was made here", line.location)
    said.suggest(
        "Reduce the loss to one number",
        f"{name}.mean() or .sum(); a loss with reduction='none' is one number for each sample.",
        edit,
    )
    return said


def _unused(failure: Failure) -> Explanation:
    said = Explanation("No gradient", "", op="grad", phase="backward", operands=())
    said.text = "One of the tensors given to torch.autograd.grad has no part in the outputs."
    said.suggest(
        "Pass only what the outputs depend on",
        "allow_unused=True gives None for the others. A tensor that was changed by .to(), "
        "indexing or requires_grad_() after use is another one than the graph knows.",
    )
    return said
