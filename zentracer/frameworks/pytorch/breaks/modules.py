"""``module:GLOB``: stops before the forward of a module, at the user's line that calls it.

RUNS IN the training process.
"""

from __future__ import annotations

import fnmatch
import types
from typing import Any

from torch import Tensor, nn

from zentracer.frameworks.base import ArmedFunction
from zentracer.frameworks.pytorch.breaks.by_name import NameBreaks
from zentracer.frameworks.pytorch.breaks.live_names import why_none
from zentracer.frameworks.pytorch.breaks.moment import Moment
from zentracer.frameworks.pytorch.finite import tensors_in
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.training.detector import BeforeLooker
from zentracer.frameworks.pytorch.training.module_names import ModuleNames
from zentracer.wire.messages import BreakpointStatus


class ModuleBreaks(NameBreaks):
    """All breakpoints on modules."""

    kind = "module"

    def status_of(self, armed: ArmedFunction) -> BreakpointStatus:
        """Return whether a live model has such a module; else it waits for one to be called."""
        message = why_none(armed.name)
        if message is None:
            return super().status_of(armed)
        self._settled.discard(armed.id)
        return BreakpointStatus(id=armed.id, verified=False, message=message)

    def before_looker(self, module: nn.Module, frame: types.FrameType) -> BeforeLooker | None:
        """Return who looks before ``module`` runs, if a breakpoint names it."""
        asked = matching(self.functions, self._names.all_of(module, user_frame(frame)))
        if not asked:
            return None
        for armed, _ in asked:
            self.verified(armed)

        def look(
            module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], frame: types.FrameType
        ) -> None:
            user = user_frame(frame)
            if user is None or self.training.in_backward:
                return  # recomputed by a checkpoint: it stopped before
            for armed, name in asked:
                self.ask(armed, self._moment(module, name, args, kwargs, user))

        return look

    def take(self, functions: tuple[ArmedFunction, ...]) -> None:
        """Serve exactly these."""
        self._names = ModuleNames(self.training.is_used)
        super().take(functions)

    def close(self) -> None:
        """Forget everything."""
        self._names.forget()

    def _moment(
        self, module: nn.Module, name: str, args: tuple[Any, ...], kwargs: dict[str, Any],
        frame: types.FrameType,
    ) -> Moment:  # fmt: skip
        inputs = named_arguments(module, args, kwargs)
        tensors = tuple((n, x) for n, x in inputs.items() if isinstance(x, Tensor))
        first = next(iter(tensors_in([list(args), kwargs])), None)
        class_name = type(module).__name__
        label = name if name == class_name else f"{name} ({class_name})"
        return Moment(
            self.training, frame,
            headline=f"{label} is about to run",
            subject=f"input of {name}",
            op=class_name,
            phase="forward",
            x=first,
            module=name,
            inputs=tensors,
            shown={**inputs, "module": module},
        )  # fmt: skip


def matching(
    functions: tuple[ArmedFunction, ...], names: tuple[str, ...]
) -> list[tuple[ArmedFunction, str]]:
    """Return the breakpoints that name a module, each with the name it has there."""
    found = []
    for armed in functions:
        hits = [name for name in names if fnmatch.fnmatchcase(name, armed.name)]
        found += [(armed, name) for name in hits[-1:]]
    return found


def named_arguments(
    module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """Return what a module is called with, by the names that its ``forward`` gives them."""
    code = getattr(getattr(type(module), "forward", None), "__code__", None)
    names = code.co_varnames[1 : code.co_argcount] if code is not None else ()
    found = {
        names[at] if at < len(names) else f"argument {at}": value for at, value in enumerate(args)
    }
    return {**found, **kwargs}
