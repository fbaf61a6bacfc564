"""Parameters that are switched off again although nobody has switched them on since.

RUNS IN the training process.

To freeze is intended, before the optimiser is built or after it, and for any length. What is told
is a second phase that freezes once more what the first one froze, and a whole optimiser whose
parameters are frozen step by step and never thawed for its own turn. Normalisation layers are often
frozen anew each epoch, because ``train()`` undoes their ``eval()``: that is intended, too.
"""

from __future__ import annotations

import ast
import types
import weakref
from typing import TYPE_CHECKING, Any, Optional

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase  # type: ignore[attr-defined]

from zentracer.control.source import Place, call_name, parsed, place_of
from zentracer.frameworks.pytorch.frames import user_frames
from zentracer.frameworks.pytorch.training.advice.words import identifiers, words_of
from zentracer.frameworks.pytorch.training.events import Update, parameters_of
from zentracer.frameworks.pytorch.training.stalled.records import Frozen, Noted, Records

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.hub import Training

STEPS = 3
"""Steps taken before a parameter is frozen again, and after it, before that is told."""
_EACH_TURN = 3
"""Times a whole optimiser's parameters are frozen again before that is told."""
_MAX_PHASES = 10
"""Items of a sequence that a loop over phases goes through; more are repetitions."""
_PHASES = frozenset("phase phases stage stages part".split())
_NORMS = (_NormBase, nn.LayerNorm, nn.GroupNorm)


class Refrozen:
    """Looks at frozen parameters of the optimisers that step, and of those that no longer do."""

    def __init__(self, training: Training, records: Records) -> None:
        self._training = training
        self._records = records
        self._told: dict[int, weakref.ref[Tensor]] = {}
        self._stepped: dict[int, weakref.ref[Any]] = {}

    def found(self, update: Update) -> Optional[tuple[list[Tensor], Noted, int]]:
        """Return what was frozen again, where, and how often; after each training step."""
        self._stepped[id(update.optimizer)] = weakref.ref(update.optimizer)
        if not self._records.has_again:
            return None
        return self._second_phase(update) or self._never_thawed(update)

    def forget(self) -> None:
        """Know nothing any more."""
        self._told.clear()
        self._stepped.clear()

    def _second_phase(self, update: Update) -> Optional[tuple[list[Tensor], Noted, int]]:
        now = self._training.watch.step or 0
        due: list[tuple[Tensor, Frozen]] = []
        for parameter in update.parameters:
            entry = self._again(parameter)
            if (
                entry is not None
                and now - entry.again_at_step >= STEPS
                and entry.again_at_step - entry.at_step >= STEPS
            ):
                due.append((parameter, entry))
        due = [(p, e) for p, e in due if self._is_meant_to_learn(p)]
        due = [(p, e) for p, e in due if e.again is not None and _begins_a_phase(e, update.frame)]
        return self._tell(due)

    def _never_thawed(self, update: Update) -> Optional[tuple[list[Tensor], Noted, int]]:
        for ref in list(self._stepped.values()):
            other = ref()
            if other is None or other is update.optimizer:
                continue
            pairs = [(p, self._again(p)) for p in parameters_of(other)]
            due = [(p, e) for p, e in pairs if e is not None and e.times > _EACH_TURN]
            if due and len(due) == len(pairs):
                return self._tell(due)
        return None

    def _tell(self, due: list[tuple[Tensor, Frozen]]) -> Optional[tuple[list[Tensor], Noted, int]]:
        if not due:
            return None
        for parameter, _ in due:
            self._told[id(parameter)] = weakref.ref(parameter)
        again = due[0][1].again
        return ([p for p, _ in due], again, due[0][1].times) if again is not None else None

    def _again(self, parameter: Tensor) -> Optional[Frozen]:
        told = self._told.get(id(parameter))
        if told is not None and told() is parameter:
            return None
        entry = self._records.frozen(parameter)
        return entry if entry is not None and entry.again is not None else None

    def _is_meant_to_learn(self, parameter: Tensor) -> bool:
        named = self._training.names.of(parameter)
        module = named.module() if named is not None else None
        return module is None or (module.training and not isinstance(module, _NORMS))


def _begins_a_phase(entry: Frozen, frame: types.FrameType | None) -> bool:
    """Tell whether the second freezing begins another phase rather than the next repetition."""
    first, again = entry.first.lines, entry.again.lines if entry.again is not None else ()
    if [line[::2] for line in first] != [line[::2] for line in again]:
        return True
    loop, user = _loop_around_both([line[0] for line in again], again, frame)
    if loop is None or user is None:
        return False
    if identifiers(loop.target) and any(words_of(n) & _PHASES for n in identifiers(loop.target)):
        return True
    return _is_short_sequence(loop.iter, user)


def _loop_around_both(
    codes: list[types.CodeType], lines: Any, frame: types.FrameType | None
) -> tuple[Optional[ast.For], Optional[types.FrameType]]:
    """Return the innermost ``for`` around both the freezing and the step that runs."""
    for user in user_frames(frame):
        if user.f_code not in codes:
            continue
        line = lines[codes.index(user.f_code)][2]
        module = parsed(user.f_code.co_filename)
        if module is None:
            return None, None
        loops = [
            node
            for node in ast.walk(module.tree)
            if isinstance(node, (ast.For, ast.While))
            and node.lineno <= min(line, user.f_lineno)
            and max(line, user.f_lineno) <= (node.end_lineno or 0)
        ]
        inner = max(loops, key=lambda node: node.lineno, default=None)
        return (inner, user) if isinstance(inner, ast.For) else (None, None)
    return None, None


def _is_short_sequence(node: ast.expr, frame: types.FrameType) -> bool:
    while isinstance(node, ast.Call) and call_name(node) in {"enumerate", "zip", "items", "list"}:
        if isinstance(node.func, ast.Attribute):
            node = node.func.value
        elif node.args:
            node = node.args[0]
        else:
            return False
    if isinstance(node, (ast.Tuple, ast.List, ast.Dict)):
        return True
    if isinstance(node, ast.Name):
        for space in (frame.f_locals, frame.f_globals):
            if node.id in space:
                value = space[node.id]
                return isinstance(value, (list, tuple, dict)) and len(value) <= _MAX_PHASES
    return False


def frozen_place(noted: Noted) -> Optional[Place]:
    """Return the line that freezes."""
    return place_of(*noted.lines[0][:2], "requires_grad_") if noted.lines else None
