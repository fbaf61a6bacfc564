"""Changes to a running model: what is asked for, and what became of it.

Between the adapter and the runtime a request travels inside an expression that debugpy evaluates on
the stopped thread; the answer is the event ``zentracer/patch_answer`` on debugpy's own channel,
ahead of debugpy's response, and never reaches an editor.
"""

from __future__ import annotations

from typing import Optional, Tuple

from zentracer.wire._body import body
from zentracer.wire.messages import Stats

OPS = (
    "set",
    "scale",
    "add",
    "fill",
    "zero",
    "noise",
    "clamp",
    "reinit",
    "load",
    "copy",
    "freeze",
    "unfreeze",
    "output",
)
"""What can be done: to numbers ``set`` to ``copy``, to parameters and modules the next two, to what
a module gives the last."""


@body
class Patch:
    """One change that is asked for."""

    target: str
    """An expression of the stopped frame, or a qualified name such as ``encoder.fc.weight``."""
    op: str = "set"
    value: Optional[str] = None
    """Operand: a literal or an expression; a scheme for ``reinit``, a file for ``load``."""
    slice: Optional[str] = None
    """Part of the target, as between brackets: ``0, 3:5``."""
    label: Optional[str] = None
    """How the user calls the change."""
    reset_state: bool = False
    """Whether an optimiser forgets its moments of what is changed."""


@body
class PatchState:
    """One change in the list."""

    patch_id: int
    target: str
    """What was changed, as the user calls it, with the part: ``fc.weight[0, 3]``."""
    text: str
    """What was done: ``set to 0.5``."""
    status: str
    """applied, undone, out_of_sync (the value has moved on since), or gone (freed)"""
    message: Optional[str] = None
    """Why the last undo or redo did nothing; a sentence."""
    before: Optional[Stats] = None
    after: Optional[Stats] = None
    """Statistics of what was changed; None for what is no tensor."""
    old: str = ""
    new: str = ""
    """What was there before and after, in a few characters."""
    notes: Tuple[str, ...] = ()
    """What the user should know: memory that is shared, a shape that was broadcast …"""
    label: Optional[str] = None
    code: str = ""
    """Statements that do the same at start-up."""
    step: Optional[int] = None
    time: float = 0.0
    """When it was done, in seconds since 1970."""
    where: str = ""
    """``train.py:12``, where the program stood."""


@body
class Patches:
    """All changes of one process, oldest first."""

    patches: Tuple[PatchState, ...] = ()
    pid: Optional[int] = None


@body
class PatchCall:
    """What is to be done in the training process."""

    id: int
    command: str
    """apply, undo or redo"""
    patch: Optional[Patch] = None
    patch_id: Optional[int] = None
    frame_id: Optional[int] = None
    """The frame in which expressions are meant, as the editor numbers it."""


@body
class PatchAnswer:
    """What became of it."""

    id: int
    error: Optional[str] = None
    """Why nothing was changed; a sentence."""
    patch: Optional[PatchState] = None
