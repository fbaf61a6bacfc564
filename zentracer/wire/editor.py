"""Message bodies of ZenTracer's additions to the Debug Adapter Protocol, adapter to editor.

On the wire each name has the prefix ``zentracer/``. Bodies are JSON: floats that are not finite
are null, arrays are base64 of little-endian data, never more than a view can show.
"""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

from zentracer.wire._body import body
from zentracer.wire.messages import (
    Eager,
    Empty,
    HitDetails,
    Location,
    Modules,
    ModulesQuery,
    Notice,
    RunEagerly,
    Stats,
)
from zentracer.wire.patches import Patches, PatchState


@body
class TensorQuery:
    """Arguments of ``zentracer/tensor``: which part of which tensor, reduced to what is shown."""

    view: str
    """stats, histogram, image, page or history; with history the expression counts as watched"""
    expression: Optional[str] = None
    """Evaluated in the frame; its value must be a tensor or an array."""
    frame_id: Optional[int] = None
    """Frame of a stopped thread, as in ``stackTrace``."""
    slice: Optional[str] = None
    """Index in Python's syntax without brackets, e.g. ``0, :, 10:20``; missing dimensions are
    whole. Without it: the last two dimensions at index 0 of the others."""
    axes: Optional[Tuple[int, ...]] = None
    """Which dimensions run down and across, counted in the tensor's own dimensions; needed only to
    swap them."""
    channels: Optional[int] = None
    """For image: the dimension that holds one (grey), three (RGB) or four (RGBA) channels."""
    row: int = 0
    """For page: first row."""
    column: int = 0
    """For page: first column."""
    width: Optional[int] = None
    """For image and page: most columns; for histogram: number of bins."""
    height: Optional[int] = None
    """For image and page: most rows."""


@body
class Histogram:
    """Counts of finite elements in equal bins between ``low`` and ``high``."""

    low: float
    high: float
    counts: Tuple[int, ...]
    sampled: bool = False


@body
class Image:
    """A matrix reduced to at most the size that was asked for.

    Element (r, c) stands for the block of rows ``r * row_step`` and columns ``c * column_step``.
    """

    width: int
    height: int
    channels: int
    row_step: int
    column_step: int
    data: str
    """Base64 of float32[height, width, channels]: mean over the finite elements of each block."""
    marks: str
    """Base64 of uint8[height, width]; bits: 1 has a NaN, 2 has +Inf, 4 has -Inf, 8 all zero."""
    lows: Optional[str] = None
    """Only for one row: base64 of float32[width], smallest finite element of each block."""
    highs: Optional[str] = None
    """Only for one row: base64 of float32[width], largest finite element of each block."""
    sampled: bool = False
    """True when only some elements of each block were looked at."""


@body
class Page:
    """Elements as text, exact."""

    row: int
    column: int
    cells: Tuple[Tuple[str, ...], ...]


@body
class HistoryPoint:
    """A watched value at one moment; numbers are None if not finite."""

    time: float
    """Seconds since 1970."""
    value: Optional[float]
    """The number itself, or the mean of the finite elements."""
    stop: Optional[int] = None
    """Number of the stop in its process; None at a step between two stops."""
    step: Optional[int] = None
    """Training steps completed; None when steps were not seen."""
    line: Optional[int] = None
    """Where the frame stood; None between two stops."""
    low: Optional[float] = None
    high: Optional[float] = None
    std: Optional[float] = None
    norm: Optional[float] = None
    bad: int = 0
    """NaN and infinite elements."""


@body
class History:
    """How a watched expression has changed over stops and steps."""

    kind: str
    """scalar or tensor"""
    path: str
    """File of the function that the expression was evaluated in."""
    points: Tuple[HistoryPoint, ...]
    """In the order of time, at most 512; older ones are fewer than there were steps."""
    sampled: bool = False
    """Whether the latest point is made of some of the elements only."""
    note: Optional[str] = None
    """Why there are no points between stops; a sentence."""


@body
class TensorView:
    """Answer of ``zentracer/tensor``; only the part that was asked for is there."""

    view: str
    expression: str
    type_name: str
    summary: str
    """The line that the Variables view shows."""
    stats: Stats
    """Metadata always; statistics only for the view ``stats``."""
    slice: str
    """The index that is shown, one entry a dimension."""
    axes: Tuple[int, ...]
    """Dimensions that run down and across: none for a scalar, one for a vector."""
    rows: int
    """Rows of the matrix that the slice selects; 1 for vectors and scalars."""
    columns: int
    note: Optional[str] = None
    """Why there is nothing to show, or what is special about what is shown; a sentence."""
    histogram: Optional[Histogram] = None
    image: Optional[Image] = None
    page: Optional[Page] = None
    history: Optional[History] = None


@body
class TensorBreakpoint:
    """A tensor exception that the user added outside the editor's own list."""

    filter: str
    condition: Optional[str] = None
    module: Optional[str] = None
    """Glob of qualified module names, as in ``match("encoder.*")``."""
    enabled: bool = True


@body
class SetTensorBreakpoints:
    """The full list of tensor breakpoints that were added outside the editor's own list."""

    breakpoints: Tuple[TensorBreakpoint, ...]


@body
class LastHit:
    """What a tensor breakpoint found last."""

    text: str
    step: Optional[int]
    rank: Optional[int]
    origin: Location
    tensor: Stats


@body
class TensorBreakpointState:
    """A tensor breakpoint as it stands."""

    id: int
    filter: str
    label: str
    source: str
    """Who set it: editor (its list of exceptions), view (``set_tensor_breakpoints``) or launch."""
    condition: Optional[str] = None
    module: Optional[str] = None
    enabled: bool = True
    verified: bool = False
    message: Optional[str] = None
    """Why it is not verified, or a warning."""
    hits: int = 0
    last: Optional[LastHit] = None


@body
class TensorBreakpoints:
    """All tensor breakpoints of a session, sent whole whenever one changes."""

    breakpoints: Tuple[TensorBreakpointState, ...]


@body
class ViewDataBreakpoint:
    """A data breakpoint that the user added outside the editor's own list."""

    data_id: str
    """From an answer to ``dataBreakpointInfo`` of the same process."""
    name: str
    """How the user calls it."""
    condition: Optional[str] = None
    hit_condition: Optional[str] = None
    enabled: bool = True


@body
class SetViewDataBreakpoints:
    """The full list of such data breakpoints of one process: that of the session it is sent to."""

    breakpoints: Tuple[ViewDataBreakpoint, ...]


@body
class DataBreakpointState:
    """A data breakpoint as it stands."""

    id: int
    pid: int
    """The process that its tensor lives in."""
    data_id: str
    name: str
    source: str
    """Who set it: editor (its list of data breakpoints) or view (``set_data_breakpoints``)."""
    condition: Optional[str] = None
    hit_condition: Optional[str] = None
    enabled: bool = True
    verified: bool = False
    message: Optional[str] = None
    """Why it is not verified, e.g. that its tensor is gone, or a warning."""
    hits: int = 0
    last: Optional[LastHit] = None


@body
class DataBreakpoints:
    """The data breakpoints of all processes, sent whole whenever one changes."""

    breakpoints: Tuple[DataBreakpointState, ...]


@body
class Finding:
    """One thing that was found, however often."""

    rule: str
    """The filter's id."""
    label: str
    message: str
    severity: str
    """error, warning or info"""
    source: Location
    """The line to blame."""
    count: int
    stack: Tuple[Location, ...]
    pid: int
    rank: Optional[int] = None
    details: Optional[HitDetails] = None
    """The latest hit, without its stack, which is ``stack``."""


@body
class Findings:
    """Everything found in a session so far, sent whole whenever it changes."""

    findings: Tuple[Finding, ...]


@body
class StepSeen:
    """A step boundary of one process; at most ten a second."""

    pid: int
    step: int
    rank: Optional[int] = None
    loss: Optional[float] = None
    overhead: Optional[float] = None
    """Share of the step's time that ZenTracer took; None until measured."""


@body
class Process:
    """A debugged process with a runtime."""

    pid: int
    python: str
    version: str
    """Version of ZenTracer's runtime in it."""
    rank: Optional[int] = None
    parent_pid: Optional[int] = None
    name: str = ""
    """How the user would call it: the script, ``rank 1``, ``child 4711``."""
    frameworks: Tuple[str, ...] = ()
    """What is loaded in it, e.g. ``torch 2.13.0``."""


@body
class Processes:
    """All debugged processes, sent whole whenever one comes or goes."""

    processes: Tuple[Process, ...]


@body
class EagerOffer:
    """A breakpoint lies in code of torch.compile; ``run_eagerly`` would let it be hit."""

    message: str
    """Why it is not hit; sentences."""


@body
class ApplyPatch:
    """Arguments of ``zentracer/apply_patch``: a ``Patch``, and where it is written."""

    target: str
    """An expression of the frame, or a qualified name such as ``encoder.fc.weight``."""
    op: str = "set"
    value: Optional[str] = None
    """A literal, an expression of the frame, a scheme for ``reinit``, a file for ``load``; a number
    or a list is taken as well."""
    slice: Optional[str] = None
    """Part of the target, as between brackets: ``0, 3:5``."""
    label: Optional[str] = None
    reset_state: bool = False
    """Whether an optimiser forgets its moments of what is changed."""
    frame_id: Optional[int] = None
    """Where expressions are evaluated; without it, where the program stands."""


@body
class PatchNumber:
    """Arguments of ``zentracer/undo_patch`` and ``zentracer/redo_patch``."""

    patch_id: int


EDITOR_EVENTS: Dict[str, Any] = {
    "breakpoints": TensorBreakpoints,
    "data_breakpoints": DataBreakpoints,
    "eager_offer": EagerOffer,
    "findings": Findings,
    "notice": Notice,
    "patches": Patches,
    "processes": Processes,
    "step": StepSeen,
}
"""Adapter to editor: name -> body."""

EDITOR_REQUESTS: Dict[str, Any] = {
    "apply_patch": (ApplyPatch, PatchState),
    "modules": (ModulesQuery, Modules),
    "patches": (Empty, Patches),
    "redo_patch": (PatchNumber, PatchState),
    "run_eagerly": (RunEagerly, Eager),
    "set_data_breakpoints": (SetViewDataBreakpoints, DataBreakpoints),
    "set_tensor_breakpoints": (SetTensorBreakpoints, TensorBreakpoints),
    "tensor": (TensorQuery, TensorView),
    "undo_patch": (PatchNumber, PatchState),
}
"""Editor to adapter: name -> (arguments, answer)."""
