"""Results of a module whose shape changes though the shape of its inputs does not.

RUNS IN the training process, at each call of the user's own modules. Compared are the number of
axes and the width (the last axis, of images the channels), never lengths: batches, sequences and
images may come in any size.
"""

from __future__ import annotations

import dataclasses
import weakref
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from zentracer.control import edits, reshapes
from zentracer.control.source import Place, function_node, parsed
from zentracer.frameworks.pytorch.finite import PLAIN
from zentracer.frameworks.pytorch.report import Finding
from zentracer.wire.filters import SHAPE
from zentracer.wire.messages import Location, Suggestion

_STEADY_RANKS = 3
"""Calls with one number of axes after which another one is news."""
_STEADY_WIDTHS = 10
"""The same for the width, which networks with several widths change on purpose."""
_SIMPLE = (bool, int, str, type(None))
_MAX_FORMS = 32
"""Kinds of inputs of one module that are told apart."""


@dataclass
class _Form:
    """What came out for one kind of inputs."""

    shape: tuple[int, ...]
    inputs: tuple[tuple[int, ...], ...]
    steady: int = 1
    varies: bool = False


@dataclass(frozen=True)
class Change:
    """One result unlike the ones before."""

    module: nn.Module
    out: Tensor
    before: tuple[int, ...]
    inputs: tuple[tuple[int, ...], ...]
    inputs_before: tuple[tuple[int, ...], ...]

    def finding(self, name: str, place: Place) -> Finding:
        """Return the finding for a module called at ``place``."""
        module = parsed(type(self.module).forward.__code__.co_filename)
        call, origin = None, place
        if module is not None and self.out.dim() != len(self.before):
            function = function_node(module, type(self.module).forward.__code__)
            call = reshapes.bare_squeeze(module, function)
        if call is not None and module is not None:
            origin = _place_in(type(self.module).forward.__code__, module, call)
        given = " with ".join(map(str, self.inputs)) or "its inputs"
        given_before = " with ".join(map(str, self.inputs_before)) or "its inputs"
        return Finding(
            op=type(self.module).__name__,
            phase="forward",
            tensor=self.out.detach(),
            nan=0,
            inf=0,
            source=place,
            origin=origin,
            subject=f"output of {name}",
            module=name,
            suggestions=(_suggestion(origin, call),),
            filter=SHAPE,
            headline=f"Changed shape of the output of {name}",
            numbers=f"{tuple(self.out.shape)} for {given}, after {self.before} for {given_before}",
        )


class ShapeChanges:
    """What each module gave so far."""

    def __init__(self) -> None:
        self._known: weakref.WeakKeyDictionary[nn.Module, dict[Any, _Form]] = (
            weakref.WeakKeyDictionary()
        )

    def forget(self) -> None:
        """Know nothing any more."""
        self._known.clear()

    def see(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any
    ) -> Change | None:
        """Note one call; return the change if it is one."""
        if type(out) not in PLAIN or torch._C._functorch.peek_interpreter_stack() is not None:  # type: ignore[attr-defined]
            return None
        given = (*args, *kwargs.values())
        inputs = tuple(tuple(x.shape) for x in given if type(x) in PLAIN)
        if not inputs:
            return None
        options = tuple(x for x in given if type(x) in _SIMPLE)
        key = (module.training, out.requires_grad, options, *((len(s), _width(s)) for s in inputs))
        forms = self._known.setdefault(module, {})
        shape = tuple(out.shape)
        known = forms.get(key)
        if known is None:
            if len(forms) < _MAX_FORMS:
                forms[key] = _Form(shape, inputs)
            return None
        before, inputs_before = known.shape, known.inputs
        known.shape, known.inputs = shape, inputs
        changed = len(shape) != len(before)
        steady = _STEADY_RANKS
        if not changed and _width(shape) != _width(before) and inputs == inputs_before:
            changed, steady = True, _STEADY_WIDTHS
        if not changed:
            known.steady += 1
            return None
        is_news = known.steady >= steady and not known.varies
        known.varies = True
        return Change(module, out, before, inputs, inputs_before) if is_news else None


def _width(shape: tuple[int, ...]) -> int:
    """Return the size of the axis that neither batches nor lengths nor images change."""
    if len(shape) < 2:
        return 0
    return shape[1] if len(shape) > 3 else shape[-1]


def _suggestion(origin: Place, call: Any) -> Suggestion:
    if call is None or origin.module is None:
        return Suggestion(
            title="Look at what the shape depends on",
            why="The inputs kept their number of axes and widths; a squeeze() without an axis or a "
            "selection by value changes the result.",
        )
    text = origin.module.text(call)
    return Suggestion(
        title="Name the axis to drop",
        why=f"{text} drops every axis of size 1, the batch too where it holds one sample.",
        edit=edits.replace(origin, call, f"{text[:-1]}-1)") if text.endswith("()") else None,
    )


def _place_in(code: Any, module: Any, node: Any) -> Place:
    location = Location(
        path=code.co_filename,
        line=node.lineno,
        column=node.col_offset + 1,
        end_line=node.end_lineno,
        end_column=(node.end_col_offset or 0) + 1,
        function=code.co_name,
        text=module.lines[node.lineno - 1].rstrip("\r\n"),
    )
    return dataclasses.replace(Place(location, module, None), node=node)
