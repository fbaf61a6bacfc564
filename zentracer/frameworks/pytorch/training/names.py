"""Names of parameters, looked up by identity.

RUNS IN the training process, when there is something to tell.
"""

from __future__ import annotations

import types
import weakref
from dataclasses import dataclass
from typing import Callable, Iterable

from torch import Tensor, nn

from zentracer.frameworks.pytorch.frames import user_frames, variables
from zentracer.frameworks.pytorch.modules import (
    has_parameters,
    named_modules,
    root_modules,
    stripped,
)

_MAX_UNKNOWN = 10_000


@dataclass(frozen=True)
class Named:
    """Where a parameter lives."""

    name: str
    """Qualified name, beginning with the variable of its model if there are several models."""
    module_name: str
    """The same of its module; the class name for a model itself."""
    attribute: str
    module: weakref.ref[nn.Module]
    root: weakref.ref[nn.Module]


class ParameterNames:
    """Names of the parameters of all live models.

    A miss makes it look at all live objects. So that a program which makes leaves in each step
    does not pay for that in each step, each look in vain doubles the misses until the next one.

    Args:
        is_used: tells of a model whether it takes part in the training. Others, such as copies
            that were left behind, are no reason to say which model a name belongs to.
    """

    def __init__(self, is_used: Callable[[nn.Module], bool] = lambda _: True) -> None:
        self._is_used = is_used
        self._known: dict[int, tuple[weakref.ref[Tensor], Named]] = {}
        self._unknown: dict[int, weakref.ref[Tensor]] = {}
        self._misses = 0
        self._in_vain = 0

    def of(self, parameter: Tensor, frame: types.FrameType | None = None) -> Named | None:
        """Return the name of ``parameter``; None if no module has it.

        Args:
            parameter: compared by identity.
            frame: where to look for the variables that hold the models.
        """
        found = self._known.get(id(parameter))
        if found is not None and found[0]() is parameter:
            return found[1]
        missing = self._unknown.get(id(parameter))
        if missing is not None and missing() is parameter:
            return None
        self._misses += 1
        if self._misses >= 2**self._in_vain:
            self._misses = 0
            self.refresh(frame)
            found = self._known.get(id(parameter))
            if found is not None and found[0]() is parameter:
                self._in_vain = 0
                return found[1]
            self._in_vain += 1
        if len(self._unknown) >= _MAX_UNKNOWN:
            self._unknown.clear()
        self._unknown[id(parameter)] = weakref.ref(parameter)
        return None

    def refresh(self, frame: types.FrameType | None = None) -> None:
        """Read the names anew: modules may have been replaced."""
        self._known.clear()
        self._unknown.clear()
        roots = [root for root in root_modules() if has_parameters(root)]
        used = [root for root in roots if self._is_used(root)]
        labels = labels_of(roots, frame) if len(used) > 1 else {}
        for root in roots:
            self._add(root, labels.get(id(root), ""))

    def forget(self) -> None:
        """Know nothing any more."""
        self._known.clear()
        self._unknown.clear()

    def _add(self, root: nn.Module, label: str) -> None:
        for name, module in named_modules(root):
            path = ".".join(filter(None, (label, stripped(name))))
            for attribute, parameter in module._parameters.items():
                if parameter is None or id(parameter) in self._known:
                    continue
                named = Named(
                    name=f"{path}.{attribute}" if path else attribute,
                    module_name=path or type(module).__name__,
                    attribute=attribute,
                    module=weakref.ref(module),
                    root=weakref.ref(root),
                )
                self._known[id(parameter)] = (weakref.ref(parameter), named)


def labels_of(roots: Iterable[nn.Module], frame: types.FrameType | None) -> dict[int, str]:
    """Return the variable that holds each model, as far as the user's frames show one."""
    wanted = {id(root) for root in roots}
    labels: dict[int, str] = {}
    for user in user_frames(frame):
        for space in (variables(user), user.f_globals):
            for name, value in list(space.items()):
                if id(value) in wanted and name != "self" and not name.startswith("_"):
                    labels.setdefault(id(value), name)
    return labels
