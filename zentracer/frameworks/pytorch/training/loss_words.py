"""What is said of a loss outside its range.

RUNS IN the training process, when there is something to tell.
"""

from __future__ import annotations

import ast
import math
import types
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterable

import torch
from torch import Tensor

from zentracer.control.source import (
    Place,
    binding_line,
    function_node,
    parsed,
    place_of,
)
from zentracer.frameworks.pytorch.finite import readable_tensor
from zentracer.frameworks.pytorch.frames import user_frames
from zentracer.frameworks.pytorch.origin import location
from zentracer.frameworks.pytorch.report import Finding
from zentracer.frameworks.pytorch.suggest import sentence_case
from zentracer.frameworks.pytorch.trail import Site
from zentracer.frameworks.pytorch.training import causes
from zentracer.frameworks.pytorch.training.loss_history import Verdict
from zentracer.frameworks.pytorch.training.loss_rows import Rows, rows_of
from zentracer.wire.filters import LOSS_SPIKE
from zentracer.wire.messages import Suggestion

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.hub import Training

_LATE = (
    "a loss on an accelerator is read once it has arrived, so the program stands about a step "
    "after the one that it belongs to."
)


@dataclass(frozen=True)
class Seen:
    """A loss as conditions see it."""

    training: Training
    value: float
    root: Tensor | None
    made: Site | None
    frame: types.FrameType
    is_late: bool

    @property
    def op(self) -> str:
        """What made it."""
        if self.made is not None:
            return self.made.op
        node = self.root.grad_fn if self.root is not None else None
        return node.name().split("::")[-1] if node is not None else "loss"

    def value_of(self, name: str) -> Any:
        """Return the value of one name of the condition language."""
        watch, value = self.training.watch, self.value
        found = {
            "norm": abs(value), "absmax": abs(value), "std": 0.0, "module": "", "op": self.op,
            "phase": "loss", "step": watch.step or 0, "rank": watch.host.rank or 0, "name": "loss",
            "shape": (), "dtype": "float32", "device": "cpu", "size": 1, "ratio": None,
            "nan": int(math.isnan(value)), "inf": int(math.isinf(value)), "zeros": int(value == 0),
        }  # fmt: skip
        if name == "epoch":
            return self.training.epoch(self.frame)
        return found.get(name, value) if name in found else value


def over_threshold(seen: Seen) -> Finding:
    """Return the finding of a condition of the user's own."""
    return _finding(seen, "Loss over its threshold", f"it is {seen.value:.4g}", None)


def spike(seen: Seen, verdict: Verdict, optimizers: Iterable[Any]) -> Finding:
    """Return the finding of a loss outside its range."""
    times = f"{verdict.value / verdict.reference:.3g} times " if verdict.reference > 0 else ""
    said = {
        "spike": f"{verdict.value:.4g} is {times or 'far above '}its median of "
        f"{verdict.reference:.4g} over the last {verdict.count} steps",
        "rise": f"{verdict.value:.4g}, {times}its best of {verdict.reference:.4g}: it has risen "
        f"for {verdict.count} steps in a row",
        "runaway": f"{verdict.value:.4g}, {times}the {verdict.reference:.4g} that it began with, "
        f"after {verdict.count} steps of growth in a row",
    }
    headline = {"spike": "Loss spike", "rise": "Loss rises", "runaway": "Loss runs away"}
    rows = rows_of(seen.root) if seen.root is not None else None
    finding = _finding(seen, headline[verdict.kind], said[verdict.kind], rows)
    finding.suggestions = tuple(map(sentence_case, _causes(seen, verdict, rows, optimizers)))
    return finding


def _finding(seen: Seen, headline: str, numbers: str, rows: Rows | None) -> Finding:
    frame = seen.frame
    source = place_of(frame.f_code, frame.f_lasti, "backward")
    made = seen.made
    origin = place_of(made.code, made.lasti, made.op) if made is not None else None
    readable = readable_tensor(seen.root)
    same = readable is not None and math.isclose(
        float(readable.detach()), seen.value, rel_tol=1e-4, abs_tol=1e-30
    )
    tensor = readable.detach() if same and readable is not None else torch.tensor(seen.value)
    return Finding(
        op=seen.op,
        phase="loss",
        tensor=tensor,
        nan=0,
        inf=0,
        source=source,
        origin=origin or bound_at(seen.root, source, frame) or source,
        subject="loss",
        note=_LATE if seen.is_late else None,
        frame=frame,
        filter=LOSS_SPIKE,
        headline=headline,
        numbers=numbers,
        evidence=_rows_table(rows) if rows is not None else (),
        values={"norm": abs(seen.value)},
    )


def bound_at(root: Tensor | None, source: Place, frame: types.FrameType) -> Place | None:
    """Return the line that binds the variable that backward is called on.

    Of the user's frames that hold the loss, the outermost: an inner one was given it.
    """
    found: Place | None = None
    for user in user_frames(frame, limit=8):
        module = parsed(user.f_code.co_filename)
        if module is None:
            continue
        names = [name for name, value in list(user.f_locals.items()) if value is root]
        if root is None or (not names and user is frame):
            names = _names_in(source) if user is frame else []
        scope = function_node(module, user.f_code)
        for name in names:
            line = binding_line(module, scope, name, user.f_lineno)
            if line is not None:
                path = user.f_code.co_filename
                found = Place(location(path, line, user.f_code.co_name), module, None)
    return found


def _names_in(source: Place) -> list[str]:
    """Return the variables in the expression that calls backward, but for the functions called."""
    node = source.node
    if node is None:
        return []
    called = {inner.func for inner in ast.walk(node) if isinstance(inner, ast.Call)}
    owners = {func.value for func in called if isinstance(func, ast.Attribute)}
    receiver = (
        node.func.value
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        else None
    )
    return [
        inner.id
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name)
        and (inner is receiver or (inner not in called and inner not in owners))
    ]


def _rows_table(rows: Rows) -> tuple[str, ...]:
    lines = [f"row {index}  loss {loss:.4g}" for index, loss in zip(rows.indices, rows.losses)]
    return (*lines, f"median of {rows.count} rows  {rows.median:.4g}")


def _causes(
    seen: Seen, verdict: Verdict, rows: Rows | None, optimizers: Iterable[Any]
) -> list[Suggestion]:
    found: list[Suggestion | None] = []
    outliers = rows is not None and verdict.kind == "spike" and rows.stand_out(verdict.reference)
    if rows is not None and outliers:
        which = ", ".join(map(str, rows.indices))
        found.append(
            Suggestion(
                title=f"Look at rows {which} of this batch",
                why=f"they make up {rows.share:.0%} of the loss: row {rows.indices[0]} has "
                f"{rows.losses[0]:.3g}, half of all rows at most {rows.median:.3g}. A wrong label "
                "or a value out of scale does that.",
            )
        )
    why = "a step that is too long throws the weights out of where they had come to."
    if rows is not None and not outliers:
        why = (
            "no few rows of the batch do this; if it is like the others, it is the weights: the "
            "last steps were too long."
        )
        if verdict.kind == "spike":
            found.append(
                Suggestion(
                    title="Look at this batch as a whole",
                    why=f"half of its rows have a loss of {rows.median:.3g} or more. Labels of "
                    "other samples do that, and inputs in other units.",
                )
            )
    known = list(optimizers)
    optimizer = known[0] if len(known) == 1 else None
    found.append(causes.learning_rate(optimizer, seen.frame, why))
    found.append(causes.clipping(seen.frame, why="it bounds what one batch can do to the weights."))
    if verdict.kind != "rise" and optimizer is not None:
        found.append(causes.warm_up(optimizer, seen.training.watch.step or 0))
    if rows is None and verdict.kind == "spike":
        found.append(
            Suggestion(
                title="Look at the data of this batch",
                why="one sample with a wrong label or out of scale can make up the whole loss; "
                'with reduction="none" the loss of each row can be seen.',
            )
        )
    return [suggestion for suggestion in found if suggestion is not None]
