"""Why parameters belong to no optimiser, and how that is told.

RUNS IN the training process, when there is something to tell.
"""

from __future__ import annotations

import ast
import types
from typing import TYPE_CHECKING, Any, Callable, Optional

from torch import Tensor, nn

from zentracer.control.source import Place, parsed
from zentracer.frameworks.pytorch.report import place_name
from zentracer.frameworks.pytorch.training.advice.places import line_of
from zentracer.frameworks.pytorch.training.events import Update
from zentracer.frameworks.pytorch.training.names import Named
from zentracer.frameworks.pytorch.training.stalled.holders import Holders, held_place, registering
from zentracer.frameworks.pytorch.training.stalled.samples import (
    Watched,
)
from zentracer.frameworks.pytorch.training.stalled.telling import (
    Stuck,
    finding,
    made_at,
    name_of,
    rows,
)
from zentracer.wire.messages import Suggestion

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.stalled.unowned import Unowned

STEPS = 3
"""Steps in a row in which a parameter got gradients and did not change. Two may be the first and
last of something; an optimiser that is built late is built within them."""


class Case:
    """Unowned parameters that were just found, sorted by cause."""

    def __init__(
        self,
        unowned: Unowned,
        update: Update,
        frame: types.FrameType,
        entries: list[Watched],
        reached: dict[int, Tensor],
        owned: set[int],
    ) -> None:
        self.training = unowned.training
        self.records = unowned.records
        self.report = unowned.report
        self.update = update
        self.frame = frame
        self.parameters = [p for entry in entries if (p := entry.parameter()) is not None]
        self.trained = [p for i, p in reached.items() if i in owned]
        self.training.names.refresh(frame)
        self.made = self.records.made(update.optimizer)
        self.stale = self._stale()

    def tell(self) -> None:
        """Tell one finding for each cause."""
        holders = Holders()
        groups: dict[tuple[str, Any], tuple[list[Tensor], Callable[[list[Tensor]], None]]] = {}
        for parameter in self.parameters:
            named = self.training.names.of(parameter, self.frame)
            module = named.module() if named is not None else None
            if module is not None and not module.training:
                continue
            key, tell = self._cause(parameter, named, holders)
            groups.setdefault(key, ([], tell))[0].append(parameter)
        for parameters, tell in groups.values():
            tell(parameters)

    def _cause(
        self, parameter: Tensor, named: Optional[Named], holders: Holders
    ) -> tuple[tuple[str, Any], Callable[[list[Tensor]], None]]:
        held = holders.of(parameter)
        root = named.root() if named is not None else None
        if held is not None and (root is None or not _has(root, held.owner)):
            key = ("held", (id(held.owner), held.attribute))
            return key, lambda found: self._tell_held(found, holders)
        later = self._put_later(named)
        if later is not None:
            return ("later", _where(later)), lambda found: self._tell_later(found, later)
        if self.stale and named is not None:
            place = self._replaced_by_source(named)
            if place is not None:
                return ("later", _where(place)), lambda found: self._tell_later(found, place)
        return ("forgotten", None), self._tell_forgotten

    def _stale(self) -> int:
        """Return how many parameters the optimiser owns that no live module has any more."""
        return sum(
            p.grad is None and self.training.names.of(p, self.frame) is None
            for p in self.update.parameters
            if isinstance(p, nn.Parameter)
        )

    def _put_later(self, named: Optional[Named]) -> Optional[Place]:
        """Return where it, or a module around it, was put in place after the optimiser."""
        module = named.module() if named is not None else None
        root = named.root() if named is not None else None
        if self.made is None or named is None or module is None or root is None:
            return None
        path = _path(root, module)
        for owner, name in [*path, (module, named.attribute)]:
            noted = self.records.registered(owner, name)
            if noted is not None and noted.order > self.made.order and noted.lines:
                return noted.outside
        return None

    def _replaced_by_source(self, named: Named) -> Optional[Place]:
        """Return the assignment of the parameter or a module around it, below the optimiser's."""
        module, root = named.module(), named.root()
        built = made_at(self.records, self.update.optimizer, self.frame)
        if module is None or root is None or built is None:
            return None
        names = [name for _, name in _path(root, module)] + [named.attribute]
        source = parsed(built.location.path)
        for node in ast.walk(source.tree) if source is not None else ():
            if not isinstance(node, ast.Assign) or node.lineno <= built.location.line:
                continue
            if any(_assigns(target, names) for target in node.targets):
                return line_of(built.location.path, node.lineno, "")
        return None

    # -- what is told --------------------------------------------------------------------------

    def _tell_held(self, parameters: list[Tensor], holders: Holders) -> None:
        first = holders.of(parameters[0])
        if first is None:
            return
        parameters.sort(key=lambda p: _order(held.path if (held := holders.of(p)) else ""))
        names = [held.path for p in parameters if (held := holders.of(p)) is not None]
        owner = type(first.owner).__name__
        place = held_place(first)
        is_parameter = "." not in first.path
        self._tell(
            Stuck(parameters, names, owner),
            f"gradients in {STEPS} steps, but no optimizer owns them: {owner}.{first.attribute} is "
            f"a plain {first.container}, and what it holds is not registered",
            place,
            registering(first, place, is_parameter=is_parameter),
        )

    def _tell_later(self, parameters: list[Tensor], place: Place) -> None:
        built = made_at(self.records, self.update.optimizer, self.frame)
        optimizer = type(self.update.optimizer).__name__
        at = f" at {place_name(built.location)}" if built is not None else ""
        stale = ""
        if self.stale:
            one = self.stale == 1
            stale = (
                f"; {optimizer} still owns {self.stale} parameter{'' if one else 's'} that "
                f"{'is' if one else 'are'} no longer in the model"
            )
        self._tell(
            self._stuck(parameters),
            f"gradients in {STEPS} steps, but no optimizer owns them: they were put in place after "
            f"{optimizer} was built{at}{stale}",
            place,
            Suggestion(
                title=f"Build {optimizer} after this line",
                why="An optimizer owns the parameters it was given, not the model: give it new "
                'ones with optimizer.add_param_group({"params": …}), or build it last.',
            ),
        )

    def _tell_forgotten(self, parameters: list[Tensor]) -> None:
        ours = sum(p.numel() for p in parameters)
        if self.trained and ours > sum(p.numel() for p in self.trained):
            return  # a few chosen out of many: only the head, only the biases, an input
        stuck = self._stuck(parameters)
        optimizer = type(self.update.optimizer).__name__
        self._tell(
            stuck,
            f"gradients in {STEPS} steps, but no optimizer owns them: {optimizer} was given "
            f"{len(self.update.parameters)} parameters, these are not among them",
            made_at(self.records, self.update.optimizer, self.frame),
            Suggestion(
                title=f"Give {stuck.subject} to {optimizer}",
                why="If they are to stay as they are, say so with requires_grad_(False): it saves "
                "computing their gradients.",
            ),
        )

    def _stuck(self, parameters: list[Tensor]) -> Stuck:
        parameters.sort(key=lambda p: _order(self._name(p)))
        named = self.training.names.of(parameters[0], self.frame)
        names = [self._name(p) for p in parameters]
        return Stuck(parameters, names, named.module_name if named is not None else None)

    def _name(self, parameter: Tensor) -> str:
        return name_of(parameter, self.training.names.of(parameter, self.frame), self.frame)

    def _tell(
        self, stuck: Stuck, numbers: str, place: Optional[Place], suggestion: Suggestion
    ) -> None:
        found = finding(
            stuck,
            self.frame,
            numbers,
            place,
            op=f"{type(self.update.optimizer).__name__}.step",
            suggestions=(suggestion,),
            evidence=rows(stuck, "in no optimizer"),
        )
        self.report(found, self.frame)


def _has(root: nn.Module, part: nn.Module) -> bool:
    """Tell whether ``part`` is ``root`` or registered below it."""
    return any(module is part for module in root.modules())


def _order(name: str) -> tuple[str, bool]:
    """Sort by name, weights first."""
    module, _, attribute = name.rpartition(".")
    return module, attribute != "weight"


def _where(place: Place) -> tuple[str, int]:
    return place.location.path, place.location.line


def _path(root: nn.Module, module: nn.Module) -> list[tuple[nn.Module, str]]:
    """Return the registrations on the way from ``root`` to ``module``."""
    for name, candidate in root.named_modules(remove_duplicate=False):
        if candidate is module:
            steps: list[tuple[nn.Module, str]] = []
            current = root
            for part in name.split(".") if name else ():
                steps.append((current, part))
                following = current._modules.get(part)
                if following is None:
                    return []
                current = following
            return steps
    return []


def _assigns(target: ast.expr, names: list[str]) -> bool:
    """Tell whether ``net.head = …`` or ``net[1] = …`` puts one of ``names`` in place."""
    if isinstance(target, ast.Attribute):
        return target.attr in names and not _is_self(target.value)
    if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
        return str(target.slice.value) in names
    return False


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"
