"""``backward:GLOB``: stops when the gradient of a module's output arrives.

RUNS IN the training process. After a call of such a module, the autograd nodes of its outputs get
a hook that runs before they do, with the gradient complete. The hook knows the module by a weak
reference and holds no tensor, so it ends with the graph; what is left of them is removed when
nothing is armed. A hook on the module itself would change the graph.
"""

from __future__ import annotations

import sys
import types
import weakref
from typing import Any, NamedTuple, Tuple

from torch import Tensor, nn

from zentracer.control.source import Place, place_of
from zentracer.frameworks.base import ArmedFilter, ArmedFunction
from zentracer.frameworks.pytorch.breaks.by_name import Asking
from zentracer.frameworks.pytorch.breaks.modules import OfModules
from zentracer.frameworks.pytorch.breaks.moment import Moment
from zentracer.frameworks.pytorch.breaks.recomputed import is_recomputed
from zentracer.frameworks.pytorch.finite import outputs_of
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.live import held_by
from zentracer.frameworks.pytorch.modules import named_modules
from zentracer.frameworks.pytorch.report import Finding
from zentracer.frameworks.pytorch.trail import Site
from zentracer.frameworks.pytorch.training.detector import Looker
from zentracer.frameworks.pytorch.training.events import Backward

_MAX_LATE = 64
"""Gradients that wait for the end of a backward pass, because no user's frame was there."""
_MAX_HELD = 4
"""Of these, how many are there to be looked at when the pass has ended: the last ones."""
_LET_GO = (
    "it came on a thread of the engine's own, where nothing can be stopped; of such gradients only "
    "the last {} of a pass are kept to be looked at."
)
_MAX_SHOWN = 16
"""Gradients of parameters that are shown."""
_PRUNE_AT = 4096
_KEY = "zentracer.calls"
Places = Tuple[Tuple[int, int], ...]
"""Positions of tensors in what a module returned, each with its index among a node's gradients."""


class _Call(NamedTuple):
    """A call of a module whose gradients are waited for."""

    asking: list[Asking]
    name: str
    module: weakref.ref[nn.Module]
    class_name: str
    site: Site | None
    tensors: int
    """How many tensors the module returned."""


class _Hook(NamedTuple):
    """What is to be undone on one autograd node; keeps no graph alive."""

    handle: Any
    metadata: dict[Any, Any]


class BackwardBreaks(OfModules):
    """All breakpoints on gradients of modules."""

    kind = "backward"

    def take(self, functions: tuple[ArmedFunction, ...]) -> None:
        """Serve exactly these; graphs that exist already ask those that are left."""
        super().take(functions)
        if not hasattr(self, "_handles"):
            self._hooks: list[_Hook] = []
            self._late: list[tuple[tuple[ArmedFilter, ...], Finding]] = []
            self._frame: types.FrameType | None = None
            self._seen: set[tuple[int, int]] = set()

    def close(self) -> None:
        """Take every hook off."""
        for hook in self._hooks:
            hook.handle.remove()
            hook.metadata.pop(_KEY, None)
        self._hooks.clear()
        self._late.clear()
        self._seen.clear()
        self._frame = None
        super().close()

    def looker(self, module: Any) -> Looker | None:
        """Return who looks at the calls of a module, if a breakpoint names it."""
        if not isinstance(module, nn.Module):
            return None
        asking, name = self.asking(module, user_frame(sys._getframe(1)))
        if not asking:
            return None

        def look(
            module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any,
            frame: types.FrameType,
        ) -> None:  # fmt: skip
            self._called(asking, name, module, out, frame)

        return look

    def _called(
        self, asking: list[Asking], name: str, module: nn.Module,
        out: Any, frame: types.FrameType,
    ) -> None:  # fmt: skip
        outputs = [x for x in outputs_of(out) if x.requires_grad]
        if not outputs:
            return
        class_name = type(module).__name__
        site = self._site(module, frame, class_name)
        call = _Call(asking, name, weakref.ref(module), class_name, site, len(outputs))
        by_node: dict[Any, list[tuple[int, int]]] = {}
        for position, x in enumerate(outputs):
            node = x.grad_fn  # a leaf that is passed on has none, and no node before it is used
            if node is not None:
                by_node.setdefault(node, []).append((position, x.output_nr))
        for node, places in by_node.items():
            self._hook(node, call, tuple(places))
        if len(self._hooks) > _PRUNE_AT:
            self._hooks = [hook for hook in self._hooks if hook.handle.hooks_dict_ref() is not None]

    def _site(self, module: nn.Module, frame: types.FrameType, class_name: str) -> Site | None:
        """Return the forward line that called a module."""
        tap = self.training.modules
        if self.training.in_backward and tap is not None and is_recomputed(frame):
            return tap.site_of(module)  # here it is called by a checkpoint
        user = user_frame(frame)
        return Site(user.f_code, user.f_lasti, class_name) if user is not None else None

    def _hook(self, node: Any, call: _Call, places: Places) -> None:
        def arrived(grads: tuple[Any, ...]) -> None:
            self.training.guarded(self, "at a gradient", self._from_engine, call, places, grads)

        metadata = node.metadata
        metadata[_KEY] = (*metadata.get(_KEY, ()), (call, places))
        self._hooks.append(_Hook(node.register_prehook(arrived), metadata))

    def _from_engine(self, call: _Call, places: Places, grads: tuple[Any, ...]) -> None:
        # On a thread of the engine's own the outermost frame is one of ours.
        self._arrived(call, places, grads, user_frame(sys._getframe(1)))

    def _arrived(
        self, call: _Call, places: Places, grads: tuple[Any, ...], user: types.FrameType | None
    ) -> None:
        found = {
            position: grads[index]
            for position, index in places
            if index < len(grads) and isinstance(grads[index], Tensor)
        }
        known = {one.id: one for one in self.functions}
        asking = [Asking(known[one.armed.id]) for one in call.asking if one.armed.id in known]
        at = user or self._frame
        if not found or not asking or at is None:
            return
        self._seen.update((id(call), position) for position in found)
        hit = self.hit(asking, self._moment(call, found, at))
        if hit is None:
            return
        if user is not None:
            self.training.stop(*hit, user)
        elif len(self._late) < _MAX_LATE:
            # On a thread of the engine's own, which serves an accelerator: the user's frame is on
            # another one, and stops when the pass is done.
            self._keep(hit)

    def _keep(self, hit: tuple[tuple[ArmedFilter, ...], Finding]) -> None:
        hit[1].measure()
        self._late.append(hit)
        if len(self._late) > _MAX_HELD:
            finding = self._late[-1 - _MAX_HELD][1]
            finding.let_go()
            finding.note = _LET_GO.format(_MAX_HELD)

    def backward_starts(self, run: Backward) -> None:
        """Note where a gradient that comes on another thread belongs."""
        self._frame = run.frame
        self._seen.clear()

    def backward_ended(self, run: Backward) -> None:
        """Stop for what came on other threads, and for gradients that ended the pass."""
        frame, self._frame = self._frame, None
        late, self._late = self._late, []
        for hit in late:
            if frame is not None:
                self.training.stop(*hit, frame)
        if run.inputs and isinstance(run.result, tuple):
            self._asked_for(run)
        self._seen.clear()

    def _asked_for(self, run: Backward) -> None:
        """Look at gradients that the program asked for: the nodes behind them did not run."""
        for x, grad in zip(run.inputs, run.result):
            node: Any = x.grad_fn if isinstance(x, Tensor) else None
            if node is None or not isinstance(grad, Tensor):
                continue
            for call, places in node.metadata.get(_KEY, ()):
                for position, index in places:
                    if index == x.output_nr and (id(call), position) not in self._seen:
                        grads = (*(None,) * index, grad)
                        self._arrived(call, ((position, index),), grads, run.frame)

    def _moment(self, call: _Call, found: dict[int, Tensor], frame: types.FrameType) -> Moment:
        names = {
            position: "grad_output" if call.tensors == 1 else f"grad_output[{position}]"
            for position in found
        }
        grads = tuple((names[position], grad.detach()) for position, grad in found.items())
        label = call.name if call.name == call.class_name else f"{call.name} ({call.class_name})"
        site = call.site

        def origin() -> Place:
            if site is None:
                return place_of(frame.f_code, frame.f_lasti, "backward")
            return place_of(site.code, site.lasti, site.op)

        return Moment(
            self.training, frame,
            headline=f"The gradient of {label} has arrived",
            subject=f"gradient of the output of {call.name}",
            op=call.class_name,
            phase="backward",
            x=grads[0][1],
            module=call.name,
            inputs=grads[1:],
            shown=lambda: _shown(call, grads),
            origin=origin,
        )  # fmt: skip


def _shown(call: _Call, grads: tuple[tuple[str, Tensor], ...]) -> dict[str, Any]:
    shown: dict[str, Any] = dict(grads)
    module = call.module()
    if module is None:
        return shown
    for path, inner in named_modules(module):
        for name, parameter in held_by(inner, "_parameters"):
            grad = parameter.grad if type(parameter) is nn.Parameter else None
            if grad is not None and len(shown) < _MAX_SHOWN:
                shown[f"{path}.{name}.grad" if path else f"{name}.grad"] = grad.detach()
    return {**shown, "module": module}
