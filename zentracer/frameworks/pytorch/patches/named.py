"""Targets by name, where an expression of the stopped frame leads nowhere.

RUNS IN the training process, on the stopped thread. ``encoder.fc.weight`` is a parameter, buffer or
module of a live model; ``optimizer.lr`` or ``lr`` a setting of the live optimiser.
"""

from __future__ import annotations

import difflib
import re
from typing import Any, Iterator, List, Sequence, Tuple

from torch import nn

from zentracer.control.pointed import Pointed, by_expression
from zentracer.frameworks.pytorch import live_names
from zentracer.frameworks.pytorch.live import held_by
from zentracer.frameworks.pytorch.patches import optimizers
from zentracer.frameworks.pytorch.patches.optimizers import Optimizer
from zentracer.frameworks.pytorch.patches.scalars import Slot, group_slot
from zentracer.frameworks.pytorch.unseen import unseen
from zentracer.observe.kinds import array_kind
from zentracer.patches.change import Refused
from zentracer.tensor_view import evaluate
from zentracer.watches import paths

_NAME = re.compile(r"\s*(\w+(?:\.\w+)*)(\[.*\])?\s*", re.DOTALL)
Modules = List[Tuple[str, nn.Module]]
"""Qualified names and live modules, those of the biggest model first."""
_TENSORS = ("_parameters", "_buffers")
_FOUND = "_zentracer_named"
_NEAR = 3
_OPTIMIZER = "optimizer"
_SEVERAL = "`{}` is the name of {} live {}, of {}. Name the one that is meant by a variable."
_MANY_GROUPS = (
    "`{}` is a tensor in each of the {} parameter groups; name one, as in "
    "optimizer.param_groups[0][{!r}]."
)


class Named(Pointed):
    """What a live model has under a name, or what is read on from there."""

    def __init__(self, pointed: Pointed, label: str, name: str) -> None:
        super().__init__(label, pointed.values, pointed.steps)
        self._name = name

    @property
    def spelled(self) -> str:
        """The same as an expression, where the variable ``model`` is the model."""
        owner, _, attribute = self._name.rpartition(".")
        rest = self.label[len(self._name) :]
        if all(part.isidentifier() for part in self._name.split(".")):
            return f"model.{self._name}{rest}"
        if attribute.isidentifier():
            return f'model.get_submodule("{owner}").{attribute}{rest}'
        return f'model.get_submodule("{self._name}"){rest}'


class Setting(Pointed):
    """A setting of all parameter groups of one optimiser."""

    def __init__(self, label: str, optimizer: Any, name: str) -> None:
        groups = optimizers.groups_of(optimizer)
        super().__init__(
            label,
            [optimizer, groups, groups[0], groups[0][name]],
            [(paths.attribute, "param_groups"), (paths.item, 0), (paths.item, name)],
        )
        self.slots: list[Slot] = [
            group_slot(optimizer, number, name)
            for number, group in enumerate(groups)
            if name in group
        ]
        if len(self.slots) > 1 and array_kind(type(self.value)):
            raise Refused(_MANY_GROUPS.format(label, len(groups), name))


def named(target: str, names: Any, scope: Any, refusal: str) -> Pointed:
    """Return what has the name ``target``.

    Args:
        target: what the user wrote, which cannot be evaluated.
        names: local variables of the frame.
        scope: its globals.
        refusal: why it cannot be evaluated; a sentence.

    Raises:
        Refused: nothing has that name, or several have; near names are offered.
    """
    match = _NAME.fullmatch(target)
    if match is None:
        raise Refused(refusal)
    name, rest = match.group(1), match.group(2) or ""
    found = _setting(name, names, scope) if not rest else None
    if found is not None:
        return found
    live_names.forget()
    modules = live_names.modules("*")
    found = _part(name, rest, target.strip(), modules)
    if found is None:
        near = ", ".join(f"`{one}`" for one in _near(name, modules))
        raise Refused(f"{refusal} There is {near}." if near else refusal)
    return found


def _part(name: str, rest: str, label: str, modules: Modules) -> Pointed | None:
    """Return what a live model has under ``name``, or what is read on from its beginning."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        found = _one(".".join(parts[:count]), modules)
        if found is None:
            continue
        tail = "".join(f".{part}" for part in parts[count:])
        try:
            pointed = by_expression(f"{_FOUND}{tail}{rest}", {_FOUND: found}, {})
        except evaluate.Refused:
            return None
        return Named(pointed, label, ".".join(parts[:count]))
    return None


def _one(name: str, modules: Modules) -> Any:
    """Return the tensor or module of that name; None if there is none.

    Raises:
        Refused: there are several.
    """
    owner, _, attribute = name.rpartition(".")
    owners = [module for path, module in modules if path == owner]
    tensors = {
        id(tensor): tensor
        for module in owners
        for table in _TENSORS
        for key, tensor in held_by(module, table)
        if key == attribute and tensor is not None
    }
    if len(tensors) > 1:
        raise Refused(_several(name, "tensors", len(tensors), owners))
    if tensors:
        return next(iter(tensors.values()))
    found = [module for path, module in modules if path == name]
    if len(found) > 1:
        raise Refused(_several(name, "modules", len(found), found))
    return found[0] if found else None


def _several(name: str, what: str, count: int, owners: Sequence[nn.Module]) -> str:
    kinds = ", ".join(dict.fromkeys(type(module).__name__ for module in owners))
    return _SEVERAL.format(name, count, what, kinds)


def _setting(name: str, names: Any, scope: Any) -> Setting | None:
    """Return a setting of an optimiser: of the one the name begins with, or of the only one."""
    owner, _, key = name.rpartition(".")
    given = names.get(owner, scope.get(owner)) if owner else None
    if isinstance(given, Optimizer):
        has = optimizers.groups_of(given) and key in given.param_groups[0]
        return Setting(name, given, key) if has else None
    if owner not in ("", _OPTIMIZER):
        return None
    with unseen():
        found = [o for o in optimizers.live() if any(key in g for g in optimizers.groups_of(o)[:1])]
    if key == "params" or not found:
        return None
    if len(found) > 1:
        kinds = ", ".join(type(o).__name__ for o in found)
        raise Refused(_SEVERAL.format(name, len(found), "settings", kinds))
    return Setting(name, found[0], key)


def _near(name: str, modules: Modules) -> list[str]:
    known = dict.fromkeys(_all_names(modules))
    return difflib.get_close_matches(name, known, _NEAR)


def _all_names(modules: Modules) -> Iterator[str]:
    for path, module in modules:
        yield path
        for table in _TENSORS:
            for attribute, tensor in held_by(module, table):
                if tensor is not None:
                    yield f"{path}.{attribute}" if path else attribute
    for optimizer in optimizers.live():
        for group in optimizers.groups_of(optimizer)[:1]:
            for key in group:
                if key != "params":
                    yield key
                    yield f"{_OPTIMIZER}.{key}"
