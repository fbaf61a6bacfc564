"""One example of every message: the source of the fixtures that every language reads.

``python tests/wire/wire_examples.py`` rewrites the fixtures.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from zentracer.wire import EVENTS, PROTOCOL_VERSION, REQUESTS
from zentracer.wire.codec import to_json
from zentracer.wire.messages import (
    BreakpointHit,
    BreakpointStatus,
    BreakpointStatuses,
    ExceptionFilter,
    FrameworkLoaded,
    Hello,
    HitDetails,
    Location,
    Notice,
    SetExceptionFilters,
    Stats,
    Step,
    Suggestion,
    TextEdit,
)

FIXTURES = Path(__file__).parent / "fixtures"

LINE = "    return torch.log(x)"
HIT = BreakpointHit(
    breakpoint_ids=(7,),
    label="NaN or Inf",
    where="NaN or Inf in encoder.layers.3",
    text="Inf in output of encoder.layers.3 (forward, step 41): 12 of 4096 elements",
    description="Inf in output of encoder.layers.3\nlog of zero\nTry: add an epsilon",
    details=HitDetails(
        filter="zentracer.nonfinite",
        module="encoder.layers.3",
        op="torch.log",
        phase="forward",
        step=41,
        rank=0,
        source=Location(path="/project/train.py", line=12, function="forward", text=LINE),
        origin=Location(
            path="/project/train.py", line=12, column=12, end_line=12, end_column=24, text=LINE
        ),
        tensor=Stats(
            shape=(64, 64),
            dtype="float32",
            device="cpu",
            size=4096,
            bytes=16384,
            min=-6.9,
            max=math.inf,
            mean=math.nan,
            nan=0,
            inf=12,
            zeros=3,
            name="x",
        ),
        inputs=(Stats(shape=(), dtype="bool", device="cuda:0", size=1, bytes=1, sampled=True),),
        suggestions=(
            Suggestion(
                title="Keep the argument of log away from zero",
                why="log(0) is -inf.",
                edit=TextEdit(
                    path="/project/train.py",
                    line=12,
                    old_text=LINE,
                    new_text="    return torch.log(x + 1e-8)",
                ),
            ),
        ),
        finite_before="x had 12 zeros and no NaN or Inf.",
        note="Found in a compiled region.",
        stack=(Location(path="/project/train.py", line=12, function="forward"),),
    ),
)

EXAMPLES: dict[str, Any] = {
    "breakpoint_hit": HIT,
    "framework": FrameworkLoaded(name="torch", version="2.13.0"),
    "hello": Hello(
        protocol_version=PROTOCOL_VERSION,
        token="0123456789abcdef",
        pid=4711,
        version="0.1.0",
        python="3.11.7",
        rank=1,
        parent_pid=4710,
    ),
    "notice": Notice(message="name 'y' is not defined", breakpoint_id=3),
    "step": Step(step=41, loss=math.nan),
    "set_exception_filters.arguments": SetExceptionFilters(
        filters=(
            ExceptionFilter(id=7, filter="zentracer.nonfinite", condition="step > 10"),
            ExceptionFilter(id=8, filter="zentracer.nonfinite"),
        ),
        precise=True,
    ),
    "set_exception_filters.body": BreakpointStatuses(
        breakpoints=(
            BreakpointStatus(id=7, verified=True),
            BreakpointStatus(id=8, verified=False, message="'foo' is not a name of conditions."),
        )
    ),
}


def types() -> dict[str, Any]:
    """Every message of the protocol: its fixture's name and its type."""
    found: dict[str, Any] = dict(EVENTS)
    for name, (arguments, body) in REQUESTS.items():
        found[f"{name}.arguments"] = arguments
        found[f"{name}.body"] = body
    return found


def render(name: str) -> str:
    """Text of the fixture ``name``: JSON, so non-finite floats are null."""
    return json.dumps(to_json(EXAMPLES[name]), indent=2, allow_nan=False) + "\n"


if __name__ == "__main__":
    for example in EXAMPLES:
        (FIXTURES / f"{example}.json").write_text(render(example), encoding="utf-8")
