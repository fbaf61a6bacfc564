"""In-place writes in the user's source.

RUNS IN the training process, when an exception is explained. Without the armed watch nobody saw
the write; then the source is searched for the statements that can have made it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any, Iterator, Optional

import torch

from zentracer.control.pydevd.usercode import is_user_code
from zentracer.control.source import Module, call_name, parsed, statement_of
from zentracer.frameworks.pytorch.errors.failure import Failure
from zentracer.frameworks.pytorch.errors.lookup import code_of, is_module
from zentracer.frameworks.pytorch.live import children_of
from zentracer.frameworks.pytorch.plans import is_in_place

_OPERATORS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow",
    ast.MatMult: "mm", ast.Mod: "remainder",
}  # fmt: skip
_SAME = {
    "linear": "addmm", "matmul": "mm", "true_divide": "div", "bmm": "mm", "conv1d": "convolution",
    "conv2d": "convolution", "conv3d": "convolution", "__getitem__": "select",
}  # fmt: skip
_MOST_MODULES = 2_000


@dataclass(frozen=True)
class Write:
    """A statement that changes a tensor in place, and the binding of what it changes."""

    path: str
    module: Module
    function: ast.AST
    name: str
    """As it is written: ``gate``, ``self.state``."""
    node: ast.AST
    """The statement or call that writes."""
    op: str
    """Which operation writes, by its plain name."""
    made: Optional[ast.stmt]
    """The statement that bound the name before, in the same function."""
    maker: str
    """The operation of that statement."""

    @property
    def line(self) -> int:
        """The line of the write."""
        return getattr(self.node, "lineno", 0)


def is_write(node: Optional[ast.AST]) -> bool:
    """Tell whether a statement or expression is written as a change in place."""
    return node is not None and _written(node) is not None


def target_of(node: ast.AST) -> Optional[ast.expr]:
    """Return what a statement or an expression writes into, None if it writes into nothing."""
    written = _written(node)
    return written[0] if written is not None else None


def writes_of(failure: Failure, producer: str) -> list[Write]:
    """Return the writes to tensors that an operation called ``producer`` made, likeliest first.

    Args:
        failure: Its frames and modules tell in which files to look.
        producer: Plain name of an autograd node, such as ``sigmoid``.
    """
    found = [write for path in _paths(failure) for write in _writes_in(path)]
    fitting = [write for write in found if write.maker == _plain(producer)]
    return fitting or [write for write in found if write.made is None and write.maker == ""]


def _paths(failure: Failure) -> list[str]:
    """Return the user's files that the run went through, as far as frames and modules tell."""
    paths = [spot.code.co_filename for spot in failure.users]
    for module in _live_modules(failure):
        for cls in type(module).__mro__:
            code = code_of(cls.__dict__.get("forward"))
            if code is not None and is_user_code(code):
                paths.append(code.co_filename)
    return list(dict.fromkeys(paths))


def _live_modules(failure: Failure) -> Iterator[Any]:
    waiting = [
        value
        for spot in failure.users
        for value in list(spot.frame.f_locals.values())
        if is_module(value)
    ]
    seen: set[int] = set()
    for module in waiting:  # grows meanwhile
        if id(module) in seen or len(seen) > _MOST_MODULES:
            continue
        seen.add(id(module))
        yield module
        waiting += [child for _, child in children_of(module)]


def _writes_in(path: str) -> Iterator[Write]:
    module = parsed(path)
    if module is None:
        return
    scopes = [
        n for n in ast.walk(module.tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    for scope in (*scopes, module.tree):
        for node in _own_nodes(scope):
            written = _written(node)
            if written is None:
                continue
            target, op = written
            name = module.text(target)
            made = _binding_before(module, scope, name, getattr(node, "lineno", 0))
            value = getattr(made, "value", None)
            yield Write(path, module, scope, name, node, op, made, operation(value))


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function without those of the functions inside it."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting[:0] = list(ast.iter_child_nodes(node))


def _written(node: ast.AST) -> Optional[tuple[ast.expr, str]]:
    """Return what ``node`` writes into and by which operation."""
    if isinstance(node, ast.AugAssign):
        return _base(node.target), _OPERATORS.get(type(node.op), "")
    if isinstance(node, ast.Assign):
        target = next((t for t in node.targets if isinstance(t, ast.Subscript)), None)
        if target is not None and not isinstance(target.slice, ast.Constant):
            return _base(target), "copy"
        if target is not None and not isinstance(getattr(target.slice, "value", ""), str):
            return _base(target), "copy"
    if isinstance(node, ast.Call):
        return _written_by_call(node)
    return None


def _written_by_call(node: ast.Call) -> Optional[tuple[ast.expr, str]]:
    name = call_name(node)
    if any(k.arg == "inplace" and _is_true(k.value) for k in node.keywords) and node.args:
        return _base(node.args[0]), name
    for keyword in node.keywords:
        if keyword.arg == "out":
            return _base(keyword.value), name
    if not name or not is_in_place(name) or name.startswith("_"):
        return None
    if isinstance(node.func, ast.Attribute):
        owner = node.func.value
        is_function = isinstance(owner, ast.Name) and owner.id in ("torch", "F")
        if not is_function:
            return (_base(owner), name.strip("_")) if hasattr(torch.Tensor, name) else None
        return (_base(node.args[0]), name.strip("_")) if node.args else None
    return None


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _base(node: ast.expr) -> ast.expr:
    """Return ``x`` for ``x[0]`` and ``x.data``: they share its memory."""
    while isinstance(node, ast.Subscript) or (
        isinstance(node, ast.Attribute) and node.attr in ("data", "T", "mT")
    ):
        node = node.value
    return node


def _binding_before(module: Module, scope: ast.AST, name: str, line: int) -> Optional[ast.stmt]:
    found: Optional[ast.stmt] = None
    for node in _own_nodes(scope):
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.lineno >= line:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        flat = [x for t in targets for x in (t.elts if isinstance(t, ast.Tuple) else [t])]
        if any(module.text(target) == name for target in flat):
            found = node if found is None or node.lineno > found.lineno else found
    return found


def operation(value: Optional[ast.AST]) -> str:
    """Return the plain name of the outermost operation of an expression."""
    if isinstance(value, ast.BinOp):
        return _OPERATORS.get(type(value.op), "")
    if isinstance(value, ast.UnaryOp):
        return "neg"
    return _plain(call_name(value)) if isinstance(value, ast.Call) else ""


def _plain(name: str) -> str:
    plain = name.strip("_").replace("_", "").lower()
    return _SAME.get(name, plain)


def statement(write: Write) -> Optional[ast.stmt]:
    """Return the whole statement of the write."""
    return statement_of(write.module, write.node)
