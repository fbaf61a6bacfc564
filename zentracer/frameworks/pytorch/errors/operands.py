"""The tensors that the failing call was given, under the names in the user's source.

RUNS IN the training process, when an exception is explained.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any, Iterator, Optional

from torch import Tensor, nn

from zentracer.control.source import call_name, operands
from zentracer.frameworks.pytorch.errors.failure import Failure, Spot, plain_locals
from zentracer.frameworks.pytorch.errors.library import failing_call
from zentracer.frameworks.pytorch.errors.lookup import (
    Unknown,
    found,
    is_tensor,
    tensors_in,
    value_of,
)
from zentracer.frameworks.pytorch.live import children_of, held_by

_MOST = 8
_DEEPEST = 64
_NO_NAMES = frozenset({"", "self", "tensors", "args"})
"""Names of PyTorch's own that tell a reader nothing."""


@dataclass(frozen=True)
class Operand:
    """One tensor of the failing call."""

    name: Optional[str]
    value: Tensor
    role: str = ""
    """How PyTorch's own signature calls it: ``input``, ``weight``, ``target`` …"""
    is_parameter: bool = False

    @property
    def called(self) -> str:
        """Its name for a sentence."""
        return self.name or (self.role if self.role not in _NO_NAMES else "the operand")


def operands_of(failure: Failure) -> tuple[Operand, ...]:
    """Return the tensors of the failing call; none where they cannot be told."""
    given = _given(failure)
    names = user_names(failure)
    parameters = parameter_names(failure)
    result: list[Operand] = []
    seen: set[int] = set()
    for role, value in given:
        if id(value) in seen:
            continue
        seen.add(id(value))
        name = names.get(id(value)) or parameters.get(id(value))
        is_parameter = id(value) in parameters or type(value) is nn.Parameter
        if is_parameter and failure.called is not None and role != "weight" and result:
            continue  # its bias and its running statistics have the sizes of its weight
        result.append(Operand(name, value, role, is_parameter))
    return tuple(result[:_MOST])


def operand(failure: Failure, *roles: str) -> Optional[Operand]:
    """Return the operand that PyTorch's signature calls one of ``roles``."""
    for role in roles:
        for one in operands_of(failure):
            if one.role == role:
                return one
    return None


def user_names(failure: Failure) -> dict[int, str]:
    """Return the source text of the operands of the user's line, by ``id`` of the tensor."""
    place, frame = failure.source, failure.user.frame
    if place.module is None or failure.remote is not None:
        return {}
    names: dict[int, str] = {}
    written = written_operands(failure)
    for expression in written:
        text = place.module.text(expression)
        if isinstance(expression, (ast.List, ast.Tuple)):
            for item in expression.elts:
                value = found(item, frame)
                if is_tensor(value):
                    names.setdefault(id(value), place.module.text(item))
            continue
        value = found(expression, frame)
        if is_tensor(value):
            names.setdefault(id(value), text)
        elif value is not None:
            for index, item in enumerate(tensors_in(value, depth=1)):
                names.setdefault(id(item), f"{text}[{index}]")
    for argument, expression in zip(_passed(failure), written):
        if is_tensor(argument):
            names.setdefault(id(argument), place.module.text(expression))
    return names


def written_operands(failure: Failure) -> list[ast.expr]:
    """Return the operands of the user's line; what a method is called on only if it is a tensor."""
    node = failure.source.node
    written = expressions(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        receiver = node.func.value
        if written and written[0] is receiver:
            value = found(receiver, failure.user.frame)
            if failure.calls_module or (value is not None and not is_tensor(value)):
                return written[1:]
    return written


def parameter_names(failure: Failure) -> dict[int, str]:
    """Return the names of the parameters and buffers of the failing module, by ``id``."""
    module = failure.module
    if module is None:
        return {}
    prefix = module_name(failure, module)
    names: dict[int, str] = {}
    for table in ("_parameters", "_buffers"):
        for name, value in held_by(module, table):
            if is_tensor(value):
                names[id(value)] = f"{prefix}.{name}" if failure.called else f"self.{name}"
    return names


def module_name(failure: Failure, module: nn.Module) -> str:
    """Return the qualified name of ``module`` below the outermost module that runs.

    A module that is none's child goes by the name of a variable, or of its class.
    """
    running = failure.modules
    for root in reversed(running):
        path = _path_to(root, module)
        if path:
            return path
    for spot in failure.users:
        for name, value in list(spot.frame.f_locals.items()):
            if value is module and type(name) is str and name != "self":
                return name
    return type(module).__name__


def _path_to(root: nn.Module, wanted: nn.Module) -> str:
    waiting: list[tuple[str, nn.Module]] = [("", root)]
    seen: set[int] = set()
    for path, module in waiting:  # grows meanwhile
        if module is wanted:
            return path
        if id(module) in seen or path.count(".") > _DEEPEST:
            continue
        seen.add(id(module))
        start = f"{path}." if path else ""
        waiting += [(f"{start}{name}", child) for name, child in children_of(module)]
    return ""


def _passed(failure: Failure) -> tuple[Any, ...]:
    """Return the positional arguments of the call that the user's line makes."""
    for spot in reversed(failure.inner):
        if spot.is_module_call or spot.is_ours:
            args = spot.frame.f_locals.get("args")
            return args if type(args) is tuple else ()
        if spot.code.co_name != "_wrapped_call_impl":
            break
    return ()


def _given(failure: Failure) -> list[tuple[str, Tensor]]:
    """Return the tensors of the innermost call that has any, with their roles."""
    if failure.remote is not None:
        return []
    for spot in (*failure.inner, failure.user):
        roles: list[tuple[str, Tensor]] = []
        if spot.is_ours:
            roles = list(_watched(spot, failure))
        elif spot.is_module_call:
            roles = [("input", x) for x in tensors_in(spot.frame.f_locals.get("args"))]
        else:
            roles = list(_written(failure, spot))
            if not roles and spot is not failure.user:
                roles = [
                    (name, x)
                    for name, value in plain_locals(spot).items()
                    for x in tensors_in(value, depth=2)
                ]
        if roles:
            return roles
    return []


def _watched(spot: Spot, failure: Failure) -> Iterator[tuple[str, Tensor]]:
    """Yield what the watch has in hand: the arguments themselves."""
    held = spot.frame.f_locals
    args, kwargs = held.get("args"), held.get("kwargs")
    roles = _roles_of(str(getattr(held.get("plan"), "name", "")))
    for index, value in enumerate(args if type(args) is tuple else ()):
        role = roles[index] if index < len(roles) else "input"
        yield from ((role, x) for x in tensors_in(value))
    for name, value in (kwargs if type(kwargs) is dict else {}).items():
        yield from ((name, x) for x in tensors_in(value))


def _written(failure: Failure, spot: Spot) -> Iterator[tuple[str, Tensor]]:
    """Yield the operands of the call that ``spot`` stands at, as far as they can be looked up."""
    if spot is failure.user:
        node: Optional[ast.AST] = failure.source.node
        roles = _roles_of(call_name(node)) if node is not None else ()
    else:
        node = failing_call(spot.code, spot.lasti, spot.line)
        roles = ()
    if isinstance(node, ast.Subscript):
        roles = _ROLES["getitem"]
    for index, expression in enumerate(expressions(node)):
        role = roles[index] if index < len(roles) else _last_name(expression)
        try:
            value = value_of(expression, spot.frame)
        except Unknown:
            continue
        yield from ((role, x) for x in tensors_in(value))


def expressions(node: Optional[ast.AST]) -> list[ast.expr]:
    """Return the operands of an expression, the index of ``x[index]`` among them."""
    if not isinstance(node, ast.Subscript):
        return operands(node)
    indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return [node.value, *indices]


def _last_name(expression: ast.expr) -> str:
    """Return ``weight`` for ``self.weight``."""
    if isinstance(expression, ast.Attribute):
        return expression.attr
    return expression.id if isinstance(expression, ast.Name) else ""


_ROLES = {
    "linear": ("input", "weight", "bias"),
    "embedding": ("weight", "input"),
    "cross_entropy": ("input", "target"),
    "cross_entropy_loss": ("input", "target"),
    "nll_loss": ("input", "target"),
    "nll_loss_nd": ("input", "target"),
    "gather": ("input", "dim", "index"),
    "index_select": ("input", "dim", "index"),
    "scatter": ("input", "dim", "index"),
    "scatter_": ("input", "dim", "index"),
    "take_along_dim": ("input", "index"),
    "take": ("input", "index"),
    "one_hot": ("index", "num_classes"),
    "getitem": ("input", "index"),
    "batch_norm": ("input", "running_mean", "running_var", "weight", "bias"),
    **{
        f"{kind}{dims}d": ("input", "weight", "bias")
        for kind in ("conv", "conv_transpose")
        for dims in (1, 2, 3)
    },
}
"""Positions in the signatures of C functions, which no frame tells."""


def _roles_of(name: str) -> tuple[str, ...]:
    plain = name.strip("_")
    if plain == "embedding":
        return _ROLES[plain]
    return _ROLES.get(name) or _ROLES.get(plain, ())


def whole_number(failure: Failure, name: str) -> Optional[int]:
    """Return the whole number that an inner call of PyTorch's was given as argument ``name``."""
    for spot in failure.inner:
        held = spot.frame.f_locals
        kwargs = held.get("kwargs")
        given = kwargs.get(name) if type(kwargs) is dict else None
        for value in (held.get(name), given, _at_role(spot, name)):
            if type(value) is int:
                return value
    return _written_number(failure, name)


def _at_role(spot: Spot, name: str) -> Any:
    args = spot.frame.f_locals.get("args")
    roles = _roles_of(str(getattr(spot.frame.f_locals.get("plan"), "name", "")))
    if type(args) is not tuple or name not in roles[: len(args)]:
        return None
    return args[roles.index(name)]


def _written_number(failure: Failure, name: str) -> Optional[int]:
    node = failure.source.node
    if not isinstance(node, ast.Call) or failure.remote is not None:
        return None
    roles = _roles_of(call_name(node))
    written = dict(zip(roles, written_operands(failure)))
    written.update({k.arg: k.value for k in node.keywords if k.arg})
    value = found(written.get(name), failure.user.frame)
    return value if type(value) is int else None
