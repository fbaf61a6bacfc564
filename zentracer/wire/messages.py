"""Message bodies of the runtime link and of ZenTracer's DAP extensions."""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

from zentracer.wire._body import body

PROTOCOL_VERSION = 1


@body
class Empty:
    """A body without fields."""


@body
class Hello:
    """First message on the link, runtime to adapter."""

    protocol_version: int
    token: str
    """The session's secret, from the environment of the launch."""
    pid: int
    version: str
    """Version of the ``zentracer`` package in the training process."""
    python: str
    """``sys.version`` of the training process, first word."""
    rank: Optional[int] = None
    """Global rank of a distributed run, None outside one."""
    parent_pid: Optional[int] = None
    name: str = ""
    """How the user would call the process: the script, or what multiprocessing calls it."""


@body
class ExceptionFilter:
    """One armed tensor exception."""

    id: int
    """The adapter's breakpoint id, reported back in ``hitBreakpointIds``."""
    filter: str
    condition: Optional[str] = None


@body
class SetExceptionFilters:
    """The full list of armed tensor exceptions; empty removes every hook."""

    filters: Tuple[ExceptionFilter, ...]
    precise: bool = False
    """Check every operation, so that the stop is always on the executing line."""


@body
class FunctionBreakpoint:
    """A breakpoint by name: of a module, an operation, a step, or a Python function."""

    id: int
    kind: str
    """module, backward, op, step or python"""
    name: str
    """What follows the kind: a glob, a step's number or nothing; a Python function's own name."""
    condition: Optional[str] = None
    hit_condition: Optional[str] = None


@body
class SetFunctionBreakpoints:
    """The full list of breakpoints by name; empty removes every hook."""

    breakpoints: Tuple[FunctionBreakpoint, ...]


@body
class DataBreakpoint:
    """A breakpoint on what a tensor, or a part of it, holds."""

    id: int
    data_id: str
    """From an answer to ``dataBreakpointInfo``."""
    condition: Optional[str] = None
    hit_condition: Optional[str] = None


@body
class SetDataBreakpoints:
    """The full list of data breakpoints; empty removes every hook."""

    breakpoints: Tuple[DataBreakpoint, ...]


@body
class BreakpointStatus:
    """What became of one armed breakpoint."""

    id: int
    verified: bool
    message: Optional[str] = None
    """Why it is not verified, or a warning; a sentence for the user."""
    pending: bool = False
    """Whether it may become verified later, when what it names is there."""


@body
class BreakpointStatuses:
    """Answer to a request that sets breakpoints, in request order."""

    breakpoints: Tuple[BreakpointStatus, ...]


@body
class Stats:
    """Statistics of one tensor over its finite elements; floats are None when not known."""

    shape: Tuple[int, ...]
    dtype: str
    device: str
    size: int
    """Number of elements."""
    bytes: int
    min: Optional[float] = None
    max: Optional[float] = None
    mean: Optional[float] = None
    std: Optional[float] = None
    absmax: Optional[float] = None
    norm: Optional[float] = None
    """Euclidean norm."""
    nan: Optional[int] = None
    inf: Optional[int] = None
    zeros: Optional[int] = None
    sampled: bool = False
    """True when the statistics come from a sample of the elements."""
    name: Optional[str] = None
    """How the user's source calls the tensor, when known."""


@body
class Location:
    """A place in a source file; ``line`` counts from 1, columns from 1 (end exclusive)."""

    path: str
    line: int
    column: Optional[int] = None
    end_line: Optional[int] = None
    end_column: Optional[int] = None
    function: Optional[str] = None
    text: Optional[str] = None
    """The source line, stripped of its end."""


@body
class TextEdit:
    """Replace one whole line by ``new_text``."""

    path: str
    line: int
    old_text: str
    new_text: str


@body
class Suggestion:
    """Something the user can do about a finding."""

    title: str
    why: str
    edit: Optional[TextEdit] = None


@body
class Neighbour:
    """A module or operation before or after the value that was found."""

    name: str
    """Qualified name of the module, else the operation."""
    op: str
    depth: int
    """1 for the nearest; lists are in the order of a tree's lines."""
    source: Optional[Location] = None
    """The line that called it, where known."""
    tensor: Optional[Stats] = None
    """What it gave (upstream) or made of the value (downstream)."""


@body
class Fact:
    """One thing that is known about a finding, and the line it is about."""

    text: str
    """A sentence, or its beginning where the line completes it."""
    location: Optional[Location] = None


@body
class HitDetails:
    """``exceptionInfo.details.zentracer`` and, with ``text``, one line of ``--json``."""

    filter: str
    module: Optional[str]
    """Qualified name of the module, as in ``named_modules``; None outside any module."""
    op: str
    phase: str
    """forward, loss, backward or update"""
    step: Optional[int]
    rank: Optional[int]
    source: Location
    """Where the program stands."""
    origin: Location
    """The line to blame."""
    tensor: Stats
    inputs: Tuple[Stats, ...] = ()
    suggestions: Tuple[Suggestion, ...] = ()
    finite_before: Optional[str] = None
    """One sentence: what was still finite when the value was made."""
    note: Optional[str] = None
    """A limit of this finding the user should know (compiled region, found one step late …)."""
    stack: Tuple[Location, ...] = ()
    """The user's frames, innermost first."""
    text: Optional[str] = None
    """What is found, where ``details.message`` is the exception's own: for a framework's error."""
    facts: Tuple[Fact, ...] = ()
    """What else is known: the lines that made the operands, shapes on the way …"""
    epoch: Optional[int] = None
    """Passes over the training data begun, counted from 0; None where that is not known."""
    evidence: Tuple[str, ...] = ()
    """Lines of a small table with the numbers behind the finding, e.g. one a layer."""
    upstream: Tuple[Neighbour, ...] = ()
    """Where the value came from, nearest first."""
    downstream: Tuple[Neighbour, ...] = ()
    """Where it goes, as of the last step if this one has not come so far."""
    before: Optional[Stats] = None
    """At a data breakpoint: what was there before ``tensor``."""
    changed: Optional[float] = None
    """At a data breakpoint: norm of the difference over the norm of what was there."""
    writer: Optional[str] = None
    """At a data breakpoint: what wrote, e.g. ``SGD.step`` or ``add_ through a view``."""


@body
class BreakpointHit:
    """Sent on debugpy's own channel just before the thread stops."""

    breakpoint_ids: Tuple[int, ...]
    label: str
    """The filter's label: exceptionId."""
    where: str
    """For ``stopped.description``: ``<label> in <where>``."""
    text: str
    """One sentence with numbers; also what debugpy reports as the exception's message."""
    description: str
    """Several lines: what, why, try."""
    details: HitDetails
    reason: str = "exception"
    """``stopped.reason``: exception, function breakpoint, data breakpoint or step."""


@body
class Advice:
    """Something was found that is listed and does not stop the program."""

    rule: str
    """Name of the rule, e.g. ``missing_zero_grad``."""
    label: str
    """The rule in a few words."""
    severity: str
    """warning or info"""
    text: str
    """One sentence with numbers."""
    description: str
    """Several lines: what, why, try."""
    details: HitDetails
    """``filter`` is ``zentracer.advice``."""


@body
class CompiledLine:
    """A line breakpoint that is not hit, because its line is part of compiled code."""

    id: int
    """debugpy's id of the breakpoint."""
    kind: str
    """compiled (torch.compile), scripted or traced (TorchScript), or captured (CUDA graph)"""
    message: str
    """Why, and what to do; a sentence or more."""


@body
class CompiledLines:
    """All line breakpoints of a process that are not hit; sent on debugpy's own channel."""

    eager: bool
    """Whether the code of torch.compile runs eagerly, so that its lines are hit again."""
    breakpoints: Tuple[CompiledLine, ...]


@body
class RunEagerly:
    """Run the code of torch.compile eagerly from its next call on, or compiled again."""

    eager: bool = True


@body
class Eager:
    """How compiled code runs now."""

    eager: bool
    regions: int = 0
    """Functions of the user's that torch.compile was asked to compile so far."""
    note: Optional[str] = None
    """What does not follow, or why nothing changed; sentences."""


@body
class Notice:
    """Something of ours stepped aside; shown once in the debug console."""

    message: str
    breakpoint_id: Optional[int] = None
    """The breakpoint that is concerned; it becomes unverified with the message."""


@body
class Step:
    """A step boundary was seen."""

    step: int
    loss: Optional[float] = None
    """Value of the loss on which backward was called, where reading it costs nothing."""
    overhead: Optional[float] = None
    """Share of the step's time that ZenTracer took; None until measured."""


@body
class FrameworkLoaded:
    """Our part of a framework is at work in the process."""

    name: str
    """As it is imported: ``torch``."""
    version: str = ""


@body
class ModulesQuery:
    """Which modules of the live models to name."""

    query: str = ""
    """Glob if it has ``*``, ``?`` or ``[``, else part of the name or of the class; in any case."""
    limit: int = 200


@body
class ModuleInfo:
    """One module of a live model."""

    name: str
    """Qualified name, as in conditions; the class name for a model itself."""
    class_name: str
    parameters: int
    """Number of parameter elements in it and below."""
    children: int
    """Number of modules directly below."""


@body
class Modules:
    """Modules of the live models, in the order of ``named_modules``."""

    modules: Tuple[ModuleInfo, ...]
    matching: int
    """How many match the query."""
    total: int
    note: Optional[str] = None
    """Why there are none; a sentence."""


EVENTS: Dict[str, Any] = {
    "advice": Advice,
    "breakpoint": BreakpointStatus,
    "breakpoint_hit": BreakpointHit,
    "compiled_lines": CompiledLines,
    "framework": FrameworkLoaded,
    "hello": Hello,
    "step": Step,
    "notice": Notice,
}
"""One-way messages, runtime to adapter: name -> body."""


@body
class CancelEvaluation:
    """End what a stopped thread computes for a request of the editor."""

    request: int
    """The editor's number of the request."""


REQUESTS: Dict[str, Tuple[Any, Any]] = {
    "cancel_evaluation": (CancelEvaluation, Empty),
    "modules": (ModulesQuery, Modules),
    "run_eagerly": (RunEagerly, Eager),
    "set_data_breakpoints": (SetDataBreakpoints, BreakpointStatuses),
    "set_exception_filters": (SetExceptionFilters, BreakpointStatuses),
    "set_function_breakpoints": (SetFunctionBreakpoints, BreakpointStatuses),
}
"""Adapter to runtime: name -> (arguments, answer)."""
