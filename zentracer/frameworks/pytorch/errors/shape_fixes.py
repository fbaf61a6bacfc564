"""What to do about shapes that do not go together.

RUNS IN the training process, when an exception is explained.
"""

from __future__ import annotations

import ast
import math
import re
from typing import Optional

from torch import nn

from zentracer.control import edits
from zentracer.control.pydevd.usercode import is_user_code
from zentracer.control.source import Place, call_name, parsed
from zentracer.frameworks.pytorch.errors.explanation import Explanation
from zentracer.frameworks.pytorch.errors.failure import Failure
from zentracer.frameworks.pytorch.errors.lookup import code_of, shape_of
from zentracer.frameworks.pytorch.errors.making import shape_text
from zentracer.frameworks.pytorch.errors.operands import Operand, module_name, written_operands
from zentracer.frameworks.pytorch.errors.wanted import wanted
from zentracer.frameworks.pytorch.live import children_of
from zentracer.frameworks.pytorch.origin import location
from zentracer.wire.messages import Location, TextEdit


def suggest(failure: Failure, said: Explanation, kind: str, given: tuple[Operand, ...]) -> None:
    """Add what mends the mismatch."""
    module = failure.called
    if module is not None and said.blamed is not None:
        _resize_module(failure, said, module, said.blamed)
    if kind in ("matmul", "bmm") and module is None and len(given) >= 2:
        _transpose(failure, said, given[0], given[1])
    elif kind == "view":
        _view(failure, said, given)
    elif kind == "loss" and len(given) >= 2:
        _loss(failure, said, given[0], given[1])
    elif kind == "broadcast" and len(given) >= 2:
        _broadcast(said, given[0], given[1])
    elif kind in ("cat", "stack"):
        _join(said, kind, given)
    elif kind in ("conv", "norm") and given and not said.suggestions:
        _dimensions(failure, said, given[0])
    elif kind in ("item", "bool"):
        said.suggest(
            "Reduce the tensor first",
            "Only a tensor of one element is a Python number or a truth value: use .mean(), "
            ".any() or .all(), or index the element that is meant.",
        )
    if not said.suggestions:
        said.suggest(
            "Make the sizes agree",
            "Compare the shapes above with what the call wants, and follow the operand back to "
            "the line that made it.",
        )


def _resize_module(failure: Failure, said: Explanation, module: nn.Module, given: Operand) -> None:
    got = shape_of(given.value)
    fixed = wanted(module, len(got))
    if fixed is None or got[fixed.axis] == fixed.size:
        return
    call = construction(failure, module)
    name = module_name(failure, module)
    if call is not None:
        said.fact(f"{name} was made here", call[0])
    size = got[fixed.axis]
    lazy = f"nn.Lazy{type(module).__name__}"
    said.suggest(
        f"Make {name} with {fixed.title}={size}",
        f"{fixed.title}={fixed.size} was right for another input: {given.called} has {size} there."
        + (f" {lazy} takes the size from the first batch." if hasattr(nn, lazy[3:]) else ""),
        _first_argument(call, str(size)) if call is not None else None,
    )
    product = math.prod(got[1:])
    if fixed.axis == -1 and len(got) > 2 and product == fixed.size:
        said.suggest(
            f"Flatten {given.called} first",
            f"{given.called}.flatten(1) is [{got[0]}, {product}], which {name} takes.",
            _wrap_operand(failure, given, "flatten(1)"),
        )
        said.suggestions.reverse()


def construction(failure: Failure, module: nn.Module) -> Optional[tuple[Location, ast.Call, str]]:
    """Return the line and the call in the user's source that made ``module``."""
    owner = next(
        (
            (outer, name)
            for outer in failure.modules
            for name, child in children_of(outer)
            if child is module
        ),
        None,
    )
    kind = type(module).__name__
    if owner is not None:
        for cls in type(owner[0]).__mro__:
            code = code_of(cls.__dict__.get("__init__"))
            if code is None or not is_user_code(code):
                continue
            found = _assigned(code.co_filename, owner[1], kind, cls.__name__, is_attribute=True)
            if found is not None:
                return found
        return None
    return _assigned(
        failure.user.code.co_filename, module_name(failure, module), kind, None, is_attribute=False
    )


def _assigned(
    path: str, name: str, kind: str, class_name: Optional[str], *, is_attribute: bool
) -> Optional[tuple[Location, ast.Call, str]]:
    source = parsed(path)
    if source is None:
        return None
    scope: ast.AST = source.tree
    if class_name is not None:
        classes = (n for n in ast.walk(source.tree) if isinstance(n, ast.ClassDef))
        scope = next((n for n in classes if n.name == class_name), source.tree)
    for node in ast.walk(scope):
        if not isinstance(node, ast.Assign):
            continue
        for target, value in _pairs(node):
            called = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
            if called != name or isinstance(target, ast.Attribute) != is_attribute:
                continue
            if isinstance(value, ast.Call) and call_name(value) == kind:
                return location(path, value.lineno), value, path
    return None


def _pairs(node: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    pairs: list[tuple[ast.expr, ast.expr]] = []
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs += zip(target.elts, node.value.elts)
        else:
            pairs.append((target, node.value))
    return pairs


def _first_argument(call: tuple[Location, ast.Call, str], new: str) -> Optional[TextEdit]:
    where, node, path = call
    place = Place(where, parsed(path), None)
    return edits.replace(place, node.args[0], new) if node.args else None


def _wrap_operand(failure: Failure, given: Operand, call: str) -> Optional[TextEdit]:
    place = failure.source
    if place.module is None:
        return None
    for expression in written_operands(failure):
        if place.module.text(expression) == given.name:
            return edits.replace(
                place, expression, edits.call_method(place.module, expression, call)
            )
    return None


def _transpose(failure: Failure, said: Explanation, left: Operand, right: Operand) -> None:
    a, b = shape_of(left.value), shape_of(right.value)
    if len(a) < 1 or len(b) < 2:
        return
    if a[-1] == b[-1]:
        call = "T" if len(b) == 2 else "transpose(-2, -1)"
        said.suggest(
            f"Transpose {right.called}",
            f"The last dimensions of {left.called} and {right.called} are both {a[-1]}: with "
            f"{right.called}.{call} the product is "
            f"{shape_text((*a[:-1], b[-2]))}.",
            _wrap_operand(failure, right, call),
        )
    elif len(a) >= 2 and a[-2] == b[-2]:
        call = "T" if len(a) == 2 else "transpose(-2, -1)"
        said.suggest(
            f"Transpose {left.called}",
            f"With {left.called}.{call} the inner sizes are both {b[-2]}.",
            _wrap_operand(failure, left, call),
        )
    else:
        said.suggest(
            "Make the inner sizes agree",
            f"{left.called} must have {b[-2]} in its last dimension, or {right.called} must have "
            f"{a[-1]} in its last but one.",
        )


def _view(failure: Failure, said: Explanation, given: tuple[Operand, ...]) -> None:
    if "not compatible" in failure.message or ".reshape(" in failure.message:
        place = failure.source
        edit = None
        node = place.node
        if place.module is not None and isinstance(node, ast.Call) and call_name(node) == "view":
            text = place.module.text(node)
            edit = edits.replace(place, node, "reshape(".join(text.rsplit("view(", 1)))
        said.suggest(
            "Use reshape instead of view",
            "A transposed or permuted tensor is not contiguous; reshape copies where it must.",
            edit,
        )
        return
    sizes = re.search(r"shape '\[([^\]]*)\]' is invalid for input of size (\d+)", failure.message)
    if sizes is None:
        return
    wanted = [int(size) for size in sizes[1].split(",") if size.strip()]
    elements = int(sizes[2])
    fixed = math.prod(size for size in wanted if size > 0)
    name = given[0].called if given else "The tensor"
    shape = f" {shape_text(shape_of(given[0].value))}" if given else ""
    why = f"{name}{shape} has {elements:,} elements; {shape_text(tuple(wanted))} needs "
    why += f"a multiple of {fixed:,}." if -1 in wanted else f"{fixed:,}."
    fitting = _fitting(wanted, elements)
    if fitting:
        why += f" These would fit: {', '.join(map(shape_text, fitting))}."
    if given and len(shape_of(given[0].value)) > 1:
        why += " flatten(1) keeps the batch and takes the rest, whatever its size."
    said.suggest("Ask for sizes that have as many elements", why)


def _fitting(wanted: list[int], elements: int) -> list[tuple[int, ...]]:
    """Return shapes of as many elements, each with one size of ``wanted`` changed."""
    found: list[tuple[int, ...]] = []
    for index in range(len(wanted)):
        others = math.prod(size for i, size in enumerate(wanted) if i != index and size > 0)
        is_free = any(size < 0 for i, size in enumerate(wanted) if i != index)
        if others > 0 and not is_free and elements % others == 0:
            found.append((*wanted[:index], elements // others, *wanted[index + 1 :]))
    return found[:3]


def _loss(failure: Failure, said: Explanation, left: Operand, right: Operand) -> None:
    a, b = shape_of(left.value), shape_of(right.value)
    if math.prod(a) == math.prod(b) and a != b:
        larger, call = (left, "squeeze(-1)") if len(a) > len(b) else (right, "squeeze(-1)")
        if shape_of(larger.value)[-1:] == (1,):
            said.suggest(
                f"Drop the last dimension of {larger.called}",
                f"{left.called} is {shape_text(a)} and {right.called} {shape_text(b)}.",
                _wrap_operand(failure, larger, call),
            )
            return
    if len(a) == 3 and len(b) == 2 and a[:2] == b:
        said.suggest(
            f"Put the classes of {left.called} second",
            f"cross_entropy wants [batch, classes, positions]: {left.called}.transpose(1, 2) is "
            f"{shape_text((a[0], a[2], a[1]))}.",
            _wrap_operand(failure, left, "transpose(1, 2)"),
        )
        return
    said.suggest(
        "Give the loss one target for each prediction",
        f"{left.called} is {shape_text(a)}, so the target must have {a[:1] and a[0]} rows, but "
        f"{right.called} is {shape_text(b)}.",
    )


def _broadcast(said: Explanation, left: Operand, right: Operand) -> None:
    a, b = shape_of(left.value), shape_of(right.value)
    bad = [
        -index
        for index, (x, y) in enumerate(zip(a[::-1], b[::-1]), 1)
        if x != y and 1 not in (x, y)
    ]
    if not bad:
        return
    at = bad[0]
    why = (
        f"Shapes are lined up from the right: {left.called} has {a[at]} and {right.called} has "
        f"{b[at]} in dimension {at}; they must be equal, or one of them 1."
    )
    smaller, larger = (right, a) if len(b) < len(a) else (left, b)
    shape = shape_of(smaller.value)
    if len(shape) == 1 and shape[0] in larger:
        before = larger.index(shape[0])
        tail = len(larger) - before - 1
        if tail:
            index = "[:" + ", None" * tail + "]"
            why += f" {smaller.called}{index} lines it up with dimension {before}."
    said.suggest("Line the dimensions up", why)


def _join(said: Explanation, kind: str, given: tuple[Operand, ...]) -> None:
    shapes = [shape_of(one.value) for one in given]
    odd = next((i for i, shape in enumerate(shapes) if shape != shapes[0]), None)
    if odd is not None:
        said.blamed = given[odd]
    if kind == "stack":
        said.suggest(
            "Bring the samples to one size",
            "torch.stack, which also makes batches, wants equal shapes: crop or resize in the "
            "dataset, or give the DataLoader a collate_fn that pads "
            "(torch.nn.utils.rnn.pad_sequence).",
        )
        return
    said.suggest(
        "Join along the dimension that differs",
        "torch.cat wants equal sizes in all dimensions but the one it joins along."
        + (f" The odd one is {given[odd].called} {shape_text(shapes[odd])}." if odd else ""),
    )


def _dimensions(failure: Failure, said: Explanation, given: Operand) -> None:
    got = shape_of(given.value)
    wanted = re.search(r"[Ee]xpected (\d)D(?: \(unbatched\))?(?: or (\d)D)?", failure.message)
    if wanted is None:
        return
    need = int(wanted[2] or wanted[1])
    if len(got) == need - 1:
        said.suggest(
            f"Give {given.called} the missing dimension",
            f"It is {shape_text(got)}; unsqueeze(0) adds a batch of one, unsqueeze(1) a channel.",
            _wrap_operand(failure, given, "unsqueeze(1)"),
        )
