"""``graph_cut``: a term of the loss has no path back to the parameters it was computed with.

RUNS IN the training process. Two signs begin a search: ``autograd.grad`` has no gradient for a
parameter whose module was called, or an optimiser's parameter never gets one. What is told is the
operation that cuts; ``detach`` and ``no_grad`` are the user's own word, and meant here.
"""

from __future__ import annotations

import types
from typing import Any

from torch import nn

from zentracer.control.flow import Cut, Point, follow
from zentracer.control.source import place_of
from zentracer.frameworks.pytorch.report import place_name
from zentracer.frameworks.pytorch.training.advice.adviser import Adviser, Rule
from zentracer.frameworks.pytorch.training.detector import Looker
from zentracer.frameworks.pytorch.training.events import Backward, Update
from zentracer.frameworks.pytorch.training.names import Named
from zentracer.frameworks.pytorch.training.stalled.cutting import cut_place, points_of, sinks_of
from zentracer.frameworks.pytorch.training.stalled.starved import Starved
from zentracer.frameworks.pytorch.training.stalled.suggestions import for_cut
from zentracer.frameworks.pytorch.training.stalled.telling import name_of
from zentracer.wire.filters import STALLED

RULE = Rule("graph_cut", "Graph cut")
_MAX_SITES = 8
"""Calls of ``autograd.grad`` that are looked into, each once."""
_MAX_PARAMETERS = 16


class GraphCut(Adviser):
    """Follows what gets no gradient to the line that cuts."""

    filter = RULE.filter

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._starved = Starved(self.training, self._ask_about)
        self._sites: set[tuple[int, ...]] = set()

    def close(self) -> None:
        """Forget everything."""
        self._starved.forget()
        self._sites.clear()

    def looker(self, module: nn.Module) -> Looker | None:
        """Have the calls of modules told that get no gradient."""
        return self._saw if self._starved.looks(module) else None

    def backward_starts(self, run: Backward) -> None:
        """Note where backward starts."""
        self._starved.backward_starts(run)

    def backward_ended(self, run: Backward) -> None:
        """Look for parameters that were asked for and got nothing."""
        if run.accumulates or not run.inputs or run.frame is None or run.site in self._sites:
            return
        result = run.result if isinstance(run.result, (tuple, list)) else ()
        without = [
            p
            for p, gradient in zip(run.inputs, result)
            if gradient is None and isinstance(p, nn.Parameter)
        ]
        if not without or len(self._sites) >= _MAX_SITES:
            return
        self._sites.add(run.site)
        for parameter in without[:_MAX_PARAMETERS]:
            named = self.training.names.of(parameter, run.frame)
            if named is not None and self._follow(named, run, run.frame):
                return

    def update_starts(self, update: Update) -> None:
        """See who has no gradient."""
        if not self._is_covered:
            self._starved.update_starts(update)

    def update_ended(self, update: Update) -> None:
        """Tell of those that are cut off."""
        if self._is_covered:
            return
        self._starved.update_ended(update)
        unchanged, self._starved.unchanged = self._starved.unchanged, []
        for entry, parameters in unchanged:
            if entry.cut is None or entry.cut.is_explicit or update.frame is None:
                continue
            names = [
                name_of(p, self.training.names.of(p, update.frame), update.frame)
                for p in parameters
            ]
            tell_cut(self, entry.cut, update.frame, names)

    # -- inside ----------------------------------------------------------------------------------

    @property
    def _is_covered(self) -> bool:
        """Whether the filter for stalled parameters is armed, which finds the same and more."""
        return any(detector.filter is STALLED for detector in self.training.detectors)

    def _ask_about(self, module: nn.Module) -> None:
        if self.training.modules is not None:
            self.training.modules.ask_about(module)

    def _saw(
        self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any,
        frame: types.FrameType,
    ) -> None:  # fmt: skip
        self._starved.saw(module, out, frame)

    def _follow(self, named: Named, run: Backward, frame: types.FrameType) -> bool:
        """Follow what the module of a parameter returned; tell if it is cut off the loss."""
        points = self._points(named, frame)
        cut = follow(points[0], points[1:], sinks_of(frame)) if points else None
        if cut is None or cut.is_explicit:
            return False
        tell_cut(self, cut, frame, [named.name], op="grad")
        return True

    def _points(self, named: Named, frame: types.FrameType) -> list[Point]:
        """Return the call of a module, and the calls around it, as far as they are known."""
        running = {point.code: point for point in points_of(frame, "grad")}
        root, module, tap = named.root(), named.module(), self.training.modules
        points: list[Point] = []
        seen: set[int] = set()
        while (
            module is not None and root is not None and tap is not None and id(module) not in seen
        ):
            seen.add(id(module))
            site = tap.site_of(module)
            node = place_of(site.code, site.lasti, site.op).node if site is not None else None
            if site is None or node is None:
                break
            around = running.get(site.code)
            points.append(Point(site.code, node, around.resolve if around else lambda _: None))
            if around is not None:
                break
            module = _runs(root, site.code)
        return points


def tell_cut(
    adviser: Any, cut: Cut, frame: types.FrameType, names: list[str], op: str = "step"
) -> None:
    """List a cut."""
    place = cut_place(cut)
    what = f"the loss term {cut.term}" if cut.term else "a term of the loss"
    last = f"; the last variable with one is {cut.last}" if cut.last else ""
    Adviser.tell(
        adviser, RULE, frame,
        f"{what} has no path to {', '.join(names[:3])}: {cut.op} at {place_name(place.location)} "
        f"leads no gradient back{last}",
        headline=f"Graph cut by {cut.op}", op=op, phase="backward", origin=place,
        suggestions=for_cut(cut, place),
    )  # fmt: skip


def _runs(root: nn.Module, code: types.CodeType) -> nn.Module | None:
    """Return the module below ``root`` whose forward is ``code``."""
    for module in root.modules():
        if getattr(type(module).forward, "__code__", None) is code:
            return module
    return None
