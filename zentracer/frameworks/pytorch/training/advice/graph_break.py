"""``graph_break``: torch.compile splits a function, because of a line that it cannot trace.

RUNS IN the training process. Dynamo makes a record of each break (``GraphCompileReason``) with
the lines that led to it; that is looked at, so nothing is paid unless something is compiled.
"""

from __future__ import annotations

import functools
import re
import sys
import traceback
import types
from typing import Any, Callable

from zentracer import import_hook
from zentracer.control.pydevd.usercode import is_user_file
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.replace import Replacements
from zentracer.frameworks.pytorch.training.advice.adviser import Adviser, Rule
from zentracer.frameworks.pytorch.training.advice.places import line_of
from zentracer.wire.messages import Suggestion

RULE = Rule("graph_break", "Graph break", severity="info")

_MODULE = "torch._dynamo.output_graph"
_MEANT = ("torch._dynamo.graph_break()", "torch.compiler.disable", "error_on_graph_break")
"""What the user has asked for."""
_TENSORS = "keep it a tensor"
_KNOWN: tuple[tuple[str, str, Suggestion], ...] = (
    (
        r"Tensor\.item\(\)",
        "Tensor.item() turns a tensor into a Python number",
        Suggestion(
            title=_TENSORS,
            why="x.clamp(min=1.0) rather than max(x.item(), 1.0). Where a number is needed, "
            "torch._dynamo.config.capture_scalar_outputs = True takes it into the graph.",
        ),
    ),
    (
        r"tolist\(\)|\.numpy\(\)",
        "the values of a tensor leave for Python",
        Suggestion(title=_TENSORS, why="or do this outside of the compiled function."),
    ),
    (
        r"generic_jump|[Dd]ata-dependent (branching|jump)",
        "a branch depends on the value of a tensor",
        Suggestion(
            title="choose with torch.where, or torch.cond for whole branches",
            why="a graph has no Python branches; one that depends on shapes or numbers is fine.",
        ),
    ),
    (
        r"[Dd]ynamic shape operator",
        "the shape of a result depends on values",
        Suggestion(
            title="use a mask of fixed shape",
            why="x * mask or torch.where rather than x[mask] or nonzero(). "
            "torch._dynamo.config.capture_dynamic_output_shape_ops = True takes it into the graph.",
        ),
    ),
    (
        r"`print`|logging\.Logger",
        "the line prints or logs",
        Suggestion(
            title="print outside of the compiled function",
            why="or add the function to torch._dynamo.config.reorderable_logging_functions "
            "(print, warnings.warn) or ignore_logging_functions (methods of a logger).",
        ),
    ),
)
_HINT = re.compile(r"^\s*Hint: (.+)$", re.MULTILINE)
_on_dynamo: list[Callable[[], None]] = []


class GraphBreaks(Adviser):
    """Looks at the breaks of graphs in the user's code."""

    filter = RULE.filter

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._told: set[tuple[str, int]] = set()
        self._replaced = Replacements()
        _on_dynamo.append(self._arrived)
        _await_dynamo()

    def close(self) -> None:
        """Leave no trace."""
        if self._arrived in _on_dynamo:
            _on_dynamo.remove(self._arrived)
        self._replaced.remove()

    def _arrived(self) -> None:
        record = getattr(sys.modules[_MODULE], "GraphCompileReason", None)
        if hasattr(record, "__post_init__"):
            self._replaced.put(record, "__post_init__", self._around)

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def __post_init__(record: Any) -> None:
            original(record)
            frame = user_frame(sys._getframe(1))
            if record.graph_break and frame is not None:
                self.guarded("at a graph break", self._broken, record, frame)

        return __post_init__

    def _broken(self, record: Any, frame: types.FrameType) -> None:
        reason, where = str(record.reason), _users(record.user_stack)
        if where is None or any(meant in reason.split("\n", 1)[0] for meant in _MEANT):
            return
        line = where.lineno or 0
        if (where.filename, line) in self._told:
            return
        self._told.add((where.filename, line))
        why, suggestion = _explained(reason)
        self.tell(
            RULE,
            frame,
            f"{why}, so torch.compile runs {where.name} as separate graphs with Python in between",
            headline=f"Graph break in {where.name}",
            op="torch.compile",
            origin=line_of(where.filename, line, where.name),
            suggestions=(suggestion,),
            note=reason.split("\n", 1)[0],
        )


@functools.lru_cache(maxsize=1)
def _listen() -> None:
    def arrived() -> None:
        for action in list(_on_dynamo):
            action()

    import_hook.when_imported({_MODULE: arrived})


def _await_dynamo() -> None:
    """Call the newest of those that wait, now or once dynamo is there."""
    if hasattr(sys.modules.get(_MODULE), "GraphCompileReason"):
        _on_dynamo[-1]()
    else:
        _listen()


def _users(stack: list[traceback.FrameSummary]) -> traceback.FrameSummary | None:
    """Return the innermost of the traced lines that is the user's own."""
    return next((line for line in reversed(stack) if is_user_file(line.filename)), None)


def _explained(reason: str) -> tuple[str, Suggestion]:
    """Return a reason of dynamo's in plain words, and what to try."""
    for pattern, words, suggestion in _KNOWN:
        if re.search(pattern, reason):
            return words, suggestion
    first = reason.split("\n", 1)[0].strip().rstrip(".")
    hints = [hint for hint in _HINT.findall(reason) if "report an issue" not in hint]
    why = hints[0] if hints else "or leave it out of compilation with torch.compiler.disable."
    words = f"it cannot be traced ({first})"
    return words, Suggestion(title="do this outside of the compiled function", why=why)
