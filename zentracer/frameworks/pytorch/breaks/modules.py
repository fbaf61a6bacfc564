"""``module:GLOB``: stops before the forward of a module, at the user's line that calls it.

RUNS IN the training process.
"""

from __future__ import annotations

import threading
import types
from typing import Any, Iterable

from torch import Tensor, nn

from zentracer.frameworks.base import ArmedFunction
from zentracer.frameworks.pytorch.breaks.by_name import Asking, NameBreaks
from zentracer.frameworks.pytorch.breaks.glob import matcher
from zentracer.frameworks.pytorch.breaks.live_names import LiveNames
from zentracer.frameworks.pytorch.breaks.moment import Moment
from zentracer.frameworks.pytorch.breaks.recomputed import is_recomputed
from zentracer.frameworks.pytorch.finite import tensors_in
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.training.detector import BeforeLooker
from zentracer.frameworks.pytorch.training.events import Update
from zentracer.frameworks.pytorch.training.module_names import ModuleNames
from zentracer.wire.messages import BreakpointStatus

SEEN_STEPS = 3
"""Steps after which it is looked again for what no module was called by."""


class OfModules(NameBreaks):
    """Breakpoints that name modules."""

    def take(self, functions: tuple[ArmedFunction, ...]) -> None:
        """Serve exactly these."""
        self._names = ModuleNames(self.training.is_used)
        super().take(functions)
        self._fits = [(armed, matcher(armed.name)) for armed in self.functions]

        self._steps = 0

    def close(self) -> None:
        """Forget everything."""
        self._names.forget()

    def update_ended(self, update: Update) -> None:
        """Look once more, after some steps, for names that no module called so far has."""
        self._steps += update.is_step
        if self._steps == SEEN_STEPS and update.is_step and self._waiting():
            thread = threading.Thread(target=self._look_again, name="zentracer-names", daemon=True)
            thread.pydev_do_not_trace = True  # type: ignore[attr-defined]
            thread.is_pydev_daemon_thread = True  # type: ignore[attr-defined]
            thread.start()

    def _waiting(self) -> list[ArmedFunction]:
        return [armed for armed in self.functions if armed.id not in self._settled]

    def _look_again(self) -> None:
        try:
            for status in self.statuses_of(self._waiting()):
                self.training.watch.host.settled(status)
        except Exception as error:  # ours to report, never the training's to die from
            self.training.watch.report_failure("look for the modules of breakpoints", error)

    def asking(self, module: nn.Module, frame: types.FrameType | None) -> tuple[list[Asking], str]:
        """Return the breakpoints that name a module, which are verified then, and its name."""
        names = self._names.all_of(module, frame)
        asking = [Asking(armed) for armed, fits in self._fits if any(fits(name) for name in names)]
        for armed, _ in asking:
            self.verified(armed)
        return asking, self._names.of(module, frame) if asking else ""

    def statuses_of(self, functions: Iterable[ArmedFunction]) -> list[BreakpointStatus]:
        """Return whether live models have such modules; others wait for one to be called."""
        live = LiveNames()
        return [self._status_of(armed, live.why_none(armed.name)) for armed in functions]

    def _status_of(self, armed: ArmedFunction, message: str | None) -> BreakpointStatus:
        if message is None:
            return self.status_of(armed)
        self._settled.discard(armed.id)
        return BreakpointStatus(id=armed.id, verified=False, message=message, pending=True)


class ModuleBreaks(OfModules):
    """All breakpoints on modules."""

    kind = "module"

    def before_looker(self, module: nn.Module, frame: types.FrameType) -> BeforeLooker | None:
        """Return who looks before ``module`` runs, if a breakpoint names it."""
        asking, name = self.asking(module, user_frame(frame))
        if not asking:
            return None

        def look(
            module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], frame: types.FrameType
        ) -> None:
            user = user_frame(frame)
            if user is None or (self.training.in_backward and is_recomputed(frame)):
                return  # it stopped the first time
            self.ask(asking, self._moment(module, name, args, kwargs, user))

        return look

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
