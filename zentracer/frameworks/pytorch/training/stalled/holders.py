"""Who holds a module or parameter that is not registered: in a list, a tuple, a dictionary.

RUNS IN the training process, when there is something to tell. Only what modules hold in their own
dictionaries is read; no code of the user's runs.
"""

from __future__ import annotations

import ast
import gc
from dataclasses import dataclass
from typing import Any, Iterator, Optional

from torch import Tensor, nn

from zentracer.control import edits
from zentracer.control.source import Place, parsed
from zentracer.frameworks.pytorch.training.advice.places import assignment_of
from zentracer.wire.messages import Suggestion

_DEPTH = 3
_MAX_ITEMS = 10_000
_REGISTERED = frozenset({"_modules", "_parameters", "_buffers"})


@dataclass(frozen=True)
class Held:
    """Where a module or parameter is held without being registered."""

    owner: nn.Module
    attribute: str
    path: str
    """How it is reached from the owner: ``hidden[0]``."""
    container: str
    """``list``, ``tuple``, ``dict`` …"""


class Holders:
    """What live modules hold in plain containers."""

    def __init__(self) -> None:
        self._found: dict[int, Held] = {}
        modules = [thing for thing in gc.get_objects() if issubclass(type(thing), nn.Module)]
        for owner in modules:
            for attribute, value in list(vars(owner).items()):
                if attribute not in _REGISTERED and isinstance(
                    value, (list, tuple, dict, set, nn.Module, nn.Parameter)
                ):
                    self._look(owner, attribute, value)

    def of(self, thing: Any) -> Optional[Held]:
        """Return who holds ``thing``; None if no module does."""
        return self._found.get(id(thing))

    def _look(self, owner: nn.Module, attribute: str, value: Any) -> None:
        for path, thing in _items(attribute, value, _DEPTH):
            held = Held(owner, attribute, path, type(value).__name__)
            self._found.setdefault(id(thing), held)
            if isinstance(thing, nn.Module):
                for name, parameter in thing.named_parameters():
                    inner = Held(owner, attribute, f"{path}.{name}", held.container)
                    self._found.setdefault(id(parameter), inner)


def held_place(held: Held) -> Optional[Place]:
    """Return the line of the owner's class that assigns the attribute."""
    return assignment_of(held.owner, held.attribute)


def registering(held: Held, place: Optional[Place], *, is_parameter: bool) -> Suggestion:
    """Suggest what registers it, with the edit where the container is written on one line."""
    keyed = held.container == "dict"
    if is_parameter:
        kind = "ParameterDict" if keyed else "ParameterList"
    else:
        kind = "ModuleDict" if keyed else "ModuleList"
    edit = None
    if place is not None and place.module is not None:
        value = _assigned(place, held.attribute)
        text = place.module.text(value) if value is not None else ""
        if text and isinstance(value, (ast.List, ast.ListComp, ast.Tuple, ast.Dict, ast.DictComp)):
            space = "nn" if "nn." in text and "torch.nn." not in text else "torch.nn"
            edit = edits.replace(place, value, f"{space}.{kind}({text})")
    return Suggestion(
        title=f"Keep them in nn.{kind}",
        why=f"A plain {held.container} is not seen by parameters(), to(), state_dict() or train(): "
        f"what {type(held.owner).__name__}.{held.attribute} holds reaches no optimizer.",
        edit=edit,
    )


def _assigned(place: Place, attribute: str) -> Optional[ast.expr]:
    module = parsed(place.location.path)
    for node in ast.walk(module.tree) if module is not None else ():
        if isinstance(node, ast.Assign) and node.lineno == place.location.line:
            target = node.targets[0]
            if isinstance(target, ast.Attribute) and target.attr == attribute:
                return node.value
    return None


def _items(path: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield the modules and parameters in nested plain containers, with the way to each."""
    if isinstance(value, (nn.Module, Tensor)):
        if isinstance(value, (nn.Module, nn.Parameter)):
            yield path, value
        return
    if not depth:
        return
    if isinstance(value, dict):
        entries = [(f"{path}[{key!r}]", item) for key, item in list(value.items())[:_MAX_ITEMS]]
    elif isinstance(value, (list, tuple, set)):
        entries = [(f"{path}[{i}]", item) for i, item in enumerate(list(value)[:_MAX_ITEMS])]
    else:
        return
    for inner, item in entries:
        yield from _items(inner, item, depth - 1)
