"""The user's line that applies a parameter which no layer of torch's applies.

RUNS IN the training process, when there is something to tell. Looked for in the source: in the
methods of the module that has the parameter, else in the functions that are running.
"""

from __future__ import annotations

import ast
import inspect
import types
from typing import Any, Iterator

from torch import Tensor, nn

from zentracer.control.pydevd.usercode import is_user_code
from zentracer.control.source import Module, Place, function_node, parsed, place_of_node
from zentracer.control.uses import Names, Path, uses_of
from zentracer.frameworks.pytorch.frames import user_frames
from zentracer.frameworks.pytorch.training.names import Named

_MAX_ITEMS = 1000


def use_in_forward(named: Named) -> Place | None:
    """Return the line of the user's module that applies one of its own parameters."""
    module, root = named.module(), named.root()
    names: Names = {f"self.{named.attribute}": ()}
    if isinstance(module, (nn.ParameterList, nn.ParameterDict)) and root is not None:
        found = _owner(root, module)
        if found is None:
            return None
        key: int | str = named.attribute
        if isinstance(module, nn.ParameterList):
            key = int(named.attribute)
        module, names = found[0], {f"self.{found[1]}": (key,)}
    for code, is_forward in _methods(module):
        source = parsed(code.co_filename)
        if source is None:
            continue
        found = uses_of(source, function_node(source, code), names)
        products = [use for use in found if use.is_product]
        for use in products or (found if is_forward else []):
            return place_of_node(code.co_filename, source, use.node)
    return None


def use_in_frames(parameter: Tensor, frame: types.FrameType | None) -> Place | None:
    """Return the line that applies a parameter which variables of running functions lead to.

    The one nearest above the line that runs, where the loss has been made; of a global variable,
    the first in the functions of its file.
    """
    frames = user_frames(frame)
    for user in frames:
        module = parsed(user.f_code.co_filename)
        if module is None:
            continue
        products = _products(module, function_node(module, user.f_code), user.f_locals, parameter)
        above = [node for node in products if node.lineno <= user.f_lineno]
        if above:
            return place_of_node(user.f_code.co_filename, module, above[-1])
    for user in frames:
        module = parsed(user.f_code.co_filename)
        products = _products(module, module.tree, user.f_globals, parameter) if module else []
        if module is not None and products:
            return place_of_node(user.f_code.co_filename, module, products[0])
    return None


def _products(
    module: Module, scope: ast.AST, variables: dict[str, Any], parameter: Tensor
) -> list[ast.expr]:
    names = {
        name: path
        for name, value in list(variables.items())
        if (path := _path(value, parameter, 2)) is not None
    }
    return [use.node for use in uses_of(module, scope, names) if use.is_product] if names else []


def _methods(module: Any) -> Iterator[tuple[types.CodeType, bool]]:
    """Yield the user's methods of a module, ``forward`` first, and whether each is that."""
    kind = type(module)
    for name in ("forward", *(name for name in vars(kind) if name not in {"__init__", "forward"})):
        function = inspect.unwrap(getattr(kind, name, None) or len)
        code = getattr(function, "__code__", None)
        if isinstance(code, types.CodeType) and is_user_code(code):
            yield code, name == "forward"


def _owner(root: nn.Module, wanted: nn.Module) -> tuple[nn.Module, str] | None:
    return next(
        (
            (module, name)
            for module in root.modules()
            for name, child in module._modules.items()
            if child is wanted
        ),
        None,
    )


def _path(value: Any, parameter: Tensor, depth: int) -> Path | None:
    """Return the keys by which ``value`` leads to ``parameter``."""
    if value is parameter:
        return ()
    items: Any = ()
    if depth and type(value) in (list, tuple) and len(value) <= _MAX_ITEMS:
        items = enumerate(value)
    elif depth and type(value) is dict and len(value) <= _MAX_ITEMS:
        items = list(value.items())
    for key, item in items:
        rest = _path(item, parameter, depth - 1)
        if rest is not None and isinstance(key, (int, str)):
            return (key, *rest)
    return None
