"""What to do about a write, where its kind is known.

RUNS IN the training process, when a data breakpoint stops.
"""

from __future__ import annotations

import ast
import types
from typing import Iterator, Optional

from torch import Tensor, nn

from zentracer.control import edits
from zentracer.control.source import Module, Place, parsed, place_of_node, statement_of
from zentracer.frameworks.pytorch.data.sharing import names_sharing
from zentracer.frameworks.pytorch.data.target import Target
from zentracer.frameworks.pytorch.data.writer import Writer
from zentracer.frameworks.pytorch.frames import user_frames, variables
from zentracer.frameworks.pytorch.live import held_by
from zentracer.frameworks.pytorch.modules import modules_on_stack, named_modules, stripped
from zentracer.frameworks.pytorch.plans import is_in_place
from zentracer.wire.messages import Suggestion, TextEdit

_NORMS = nn.modules.batchnorm._NormBase


def suggestions_for(
    target: Target, x: Tensor | None, writer: Writer, place: Place
) -> tuple[tuple[Suggestion, ...], Place | None]:
    """Return what to do, and the line to blame where that is not the one that wrote."""
    if x is None or not writer.is_known:
        return (), None
    found = (
        _saved_by_reference(target, x, writer)
        or _data_in_place(target, x, place)
        or _frozen_norm(x, writer)
    )
    return ((found,), None) if found is not None else ((), None)


# -- a state dict that was saved and is trained on -----------------------------------------------


def _saved_by_reference(target: Target, x: Tensor, writer: Writer) -> Suggestion | None:
    """``best = net.state_dict()`` holds the parameters themselves, which training goes on with."""
    container = target.label.partition("[")[0]
    if container == target.label or not container.isidentifier():
        return None
    for user in user_frames(writer.frame):
        module = parsed(user.f_code.co_filename)
        call = _assigned_call(module, user, container, "state_dict") if module else None
        if module is None or call is None:
            continue
        names = names_sharing(x, target, writer.frame)
        shared = names[0] if names else "the parameter"
        new = f"{{k: v.clone() for k, v in {module.text(call)}.items()}}"
        place = place_of_node(user.f_code.co_filename, module, call)
        return Suggestion(
            title="Save copies of the values",
            why=f"state_dict() returns the tensors themselves: {target.label} is the memory of "
            f"{shared}, so each update overwrites what was saved at line {call.lineno}.",
            edit=edits.replace(place, call, new),
        )
    return None


def _assigned_call(
    module: Module, frame: types.FrameType, name: str, method: str
) -> Optional[ast.Call]:
    """Return the last ``name = ….method()`` before the line of ``frame``."""
    found = None
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        called = node.value.func
        is_method = isinstance(called, ast.Attribute) and called.attr == method
        names = [t.id for t in node.targets if isinstance(t, ast.Name)]
        if is_method and name in names and node.lineno <= frame.f_lineno:
            found = node.value
    return found


# -- data that is normalised where it is kept ----------------------------------------------------


def _data_in_place(target: Target, x: Tensor, place: Place) -> Suggestion | None:
    """``from_numpy(self.images[i]).sub_(…)`` works on the memory of the data set itself."""
    if not target.source.exposed or place.module is None or place.node is None:
        return None
    edit = _out_of_place(place, place.module)
    if edit is None:
        return None
    return Suggestion(
        title="Compute into a new tensor",
        why=f"The tensor here shares its memory with {target.label}, so methods that end in _ "
        "change the data themselves, again in each epoch.",
        edit=edit,
    )


def _out_of_place(place: Place, module: Module) -> TextEdit | None:
    """Return the line with ``sub`` for ``sub_`` where its value is used."""
    node = place.node
    statement = statement_of(module, node) if node is not None else None
    if statement is None or isinstance(statement, (ast.Expr, ast.AugAssign)):
        return None  # nobody takes the new tensor
    value = getattr(statement, "value", None)
    if value is None:
        return None
    calls = [
        call
        for call in ast.walk(value)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and is_in_place(call.func.attr)
    ]
    text = module.text(value)
    for call in calls:
        name = call.func.attr  # type: ignore[attr-defined]
        text = text.replace(f".{name}(", f".{name[:-1]}(")
    return edits.replace(place, value, text) if calls else None


# -- a frozen network whose statistics still move ------------------------------------------------


def _frozen_norm(x: Tensor, writer: Writer) -> Suggestion | None:
    """``requires_grad=False`` does not keep batch norm from updating its running statistics."""
    running = modules_on_stack(writer.inner)
    norm = running[0] if running else None
    if not isinstance(norm, _NORMS) or not norm.training or not _is_frozen(norm):
        return None
    name, _ = next(_frozen_holders(norm, writer.frame), (None, None))
    if name is None:
        return None
    return Suggestion(
        title=f"Call {name}.eval() after each train()",
        why="requires_grad=False only stops gradients. In training mode batch norm updates its "
        f"running statistics at each call, so the features of {name} drift.",
        edit=_eval_after_train(writer.frame, name),
    )


def _is_frozen(module: nn.Module) -> bool:
    parameters = [
        p
        for _, part in named_modules(module)
        for _, p in held_by(part, "_parameters")
        if p is not None
    ]
    return bool(parameters) and not any(p.requires_grad for p in parameters)


def _frozen_holders(norm: nn.Module, frame: types.FrameType) -> Iterator[tuple[str, nn.Module]]:
    """Yield the variables of the user's that hold a frozen network with ``norm`` in it."""
    for user in user_frames(frame):
        for space in (variables(user), user.f_globals):
            for name, value in list(space.items()):
                if isinstance(value, nn.Module):
                    for path, part in named_modules(value):
                        inside = any(child is norm for _, child in named_modules(part))
                        if inside and _is_frozen(part):
                            yield ".".join(filter(None, (name, stripped(path)))), part
                            break


def _eval_after_train(frame: types.FrameType, name: str) -> TextEdit | None:
    """Return the edit of the nearest ``….train()`` before the line."""
    for user in user_frames(frame):
        module = parsed(user.f_code.co_filename)
        if module is None:
            continue
        calls = [
            node
            for node in ast.walk(module.tree)
            if isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Call)
            and isinstance(node.value.func, ast.Attribute)
            and node.value.func.attr == "train"
            and node.lineno <= user.f_lineno
            and node.lineno == node.end_lineno
        ]
        for call in sorted(calls, key=lambda node: -node.lineno):
            old = module.lines[call.lineno - 1].rstrip("\r\n")
            indent = old[: len(old) - len(old.lstrip())]
            code = f"{indent}{module.text(call)}"
            new = f"{code}\n{indent}{name}.eval()"
            return TextEdit(
                path=user.f_code.co_filename, line=call.lineno, old_text=old, new_text=new
            )
    return None
