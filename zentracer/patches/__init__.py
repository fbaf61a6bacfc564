"""Changes to the running program: one way for all doors, with one journal.

RUNS IN the user's training process, on the stopped thread. ``answer`` is called inside debugpy's
``evaluate``; assignments in the console and in the Variables view end in ``apply`` as well.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
import sys
from types import FrameType
from typing import Any, List, Optional, Tuple

from zentracer.control import pointed
from zentracer.control.pydevd import channel, client_ids
from zentracer.observe.stats import error_text
from zentracer.patches.change import Change, Refused
from zentracer.patches.journal import Journal
from zentracer.progress import progress
from zentracer.tensor_view import evaluate
from zentracer.wire.codec import decode
from zentracer.wire.patches import (
    OPS,
    Patch,
    PatchAnswer,
    PatchCall,
    Patches,
    PatchState,
)

_TO_EVALUATE: Any = object()
CHANGERS = {"torch": "zentracer.frameworks.pytorch.patches"}
"""Module the user has imported -> our module with ``change_for``."""
_NO_FRAMEWORK = "Changes need PyTorch, which has not been imported in this process yet."
_NO_OPERAND = frozenset({"zero", "freeze", "unfreeze", "reinit"})
"""What needs no value."""
_TEXTS = frozenset({"load", "reinit", "output"})
"""What has a value that is no expression: a file, a scheme, a word."""


def answer(call: str) -> None:
    """Do what one question asks for, and send the answer.

    Args:
        call: A ``PatchCall`` as JSON in base64, which no rewriting of expressions touches.
    """
    question = decode(PatchCall, json.loads(base64.b64decode(call)))
    try:
        frame = client_ids.frame_of(question.frame_id) if question.frame_id else None
        state = _done(question, frame or sys._getframe(1))
        reply = PatchAnswer(id=question.id, patch=state)
    except (Refused, evaluate.Refused) as refused:
        reply = PatchAnswer(id=question.id, error=str(refused))
    except Exception as error:
        text = f"ZenTracer failed to change the program: {error_text(error)}"
        reply = PatchAnswer(id=question.id, error=f"{text}. Please report this.")
    channel.send_event("patch_answer", reply)


def apply(
    patch: Patch,
    frame: FrameType,
    value: Any = _TO_EVALUATE,
    what: Optional[pointed.Pointed] = None,
) -> PatchState:
    """Make a change that is written in terms of a stopped frame.

    Args:
        patch: what is asked for.
        frame: where its expressions are meant.
        value: what ``patch.value`` stands for, where that is known already.
        what: what ``patch.target`` and ``patch.slice`` stand for, where that is.

    Raises:
        Refused: nothing was changed; the text is a sentence.
    """
    try:
        change = _change(patch, frame, value, what)
    except evaluate.Refused as refused:
        raise Refused(str(refused)) from None
    return journal.apply(change, where=_place(frame), step=progress(frame).step, label=patch.label)


def changer() -> Any:
    """Return our module that changes what belongs to the user's framework.

    Raises:
        Refused: there is none.
    """
    module = next((name for framework, name in CHANGERS.items() if framework in sys.modules), None)
    if module is None:
        raise Refused(_NO_FRAMEWORK)
    return importlib.import_module(module)


def _done(question: PatchCall, frame: FrameType) -> PatchState:
    if question.command == "apply" and question.patch is not None:
        return apply(question.patch, frame)
    number = question.patch_id or 0
    return journal.undo(number) if question.command == "undo" else journal.redo(number)


def _change(
    patch: Patch, frame: FrameType, value: Any, what: Optional[pointed.Pointed] = None
) -> Change:
    if patch.op not in OPS:
        raise Refused(f"There is no change `{patch.op}`; there are {', '.join(OPS)}.")
    changing = changer()
    names, scope = frame.f_locals, frame.f_globals
    more: List[Any] = []
    if what is None:
        try:
            found = pointed.by_expression(patch.target, names, scope)
        except evaluate.Refused as refused:
            found = changing.named(patch.target, names, scope, str(refused))
        more, found.label = _narrowed(patch, found.label, frame)
        what = found
    if value is not _TO_EVALUATE:
        return changing.change_for(patch, what, more, value, frame)
    value = None
    if patch.value is not None and patch.op not in _TEXTS:
        value = evaluate.value_of(patch.value, scope, names)
    elif patch.op not in _NO_OPERAND | _TEXTS:
        raise Refused(f"`{patch.op}` needs a value.")
    return changing.change_for(patch, what, more, value, frame)


def _narrowed(patch: Patch, label: str, frame: FrameType) -> Tuple[List[Any], str]:
    """Return the index that ``patch.slice`` is, and the label with it."""
    text = (patch.slice or "").strip()
    if not text:
        return [], label
    return [picked(text, frame)], f"{label}[{text}]"


def picked(text: str, frame: FrameType) -> Any:
    """Return the index that is written so between brackets."""
    return evaluate.value_of(f"_zentracer_index[{text}]", frame.f_globals, _with_picker(frame))


def _with_picker(frame: FrameType) -> Any:
    return {**frame.f_locals, "_zentracer_index": _Picker()}


class _Picker:
    """Gives back what it is indexed with."""

    def __getitem__(self, index: Any) -> Any:
        return index


def _place(frame: Optional[FrameType]) -> str:
    if frame is None:
        return ""
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def _tell() -> None:
    channel.send_event("patches", Patches(patches=journal.states(_SHOWN), pid=os.getpid()))


_SHOWN = 500
"""Changes that are listed, the newest."""
journal = Journal(_tell)
"""All changes of this process."""
