"""One example of every message: the source of the fixtures that every language reads.

``NAME`` is a message of the link, ``editor/NAME`` one of our additions to DAP.

``python tests/wire/wire_examples.py`` rewrites the fixtures.
"""

from __future__ import annotations

import base64
import json
import math
import struct
from pathlib import Path
from typing import Any

from zentracer.wire import EVENTS, PROTOCOL_VERSION, REQUESTS
from zentracer.wire.codec import to_json
from zentracer.wire.editor import (
    EDITOR_EVENTS,
    EDITOR_REQUESTS,
    ApplyPatch,
    DataBreakpoints,
    DataBreakpointState,
    EagerOffer,
    Finding,
    Findings,
    Histogram,
    History,
    HistoryPoint,
    Image,
    LastHit,
    Page,
    PatchNumber,
    Process,
    Processes,
    SetTensorBreakpoints,
    SetViewDataBreakpoints,
    StepSeen,
    TensorBreakpoint,
    TensorBreakpoints,
    TensorBreakpointState,
    TensorQuery,
    TensorView,
    ViewDataBreakpoint,
)
from zentracer.wire.messages import (
    Advice,
    BreakpointHit,
    BreakpointStatus,
    BreakpointStatuses,
    CancelEvaluation,
    CompiledLine,
    CompiledLines,
    DataBreakpoint,
    Eager,
    Empty,
    ExceptionFilter,
    Fact,
    FrameworkLoaded,
    FunctionBreakpoint,
    Hello,
    HitDetails,
    Location,
    ModuleInfo,
    Modules,
    ModulesQuery,
    Neighbour,
    Notice,
    RunEagerly,
    SetDataBreakpoints,
    SetExceptionFilters,
    SetFunctionBreakpoints,
    Stats,
    Step,
    Suggestion,
    TextEdit,
)
from zentracer.wire.patches import Patches, PatchState

FIXTURES = Path(__file__).parent / "fixtures"


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


LINE = "    return torch.log(x)"
HIT = BreakpointHit(
    breakpoint_ids=(7,),
    label="NaN or Inf",
    where="encoder.layers.3",
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
        text="log was given 12 zeros",
        epoch=2,
        evidence=("layer    norm", "fc1      3.2e+17"),
        upstream=(
            Neighbour(
                name="encoder.layers.2",
                op="Linear",
                depth=1,
                source=Location(path="/project/train.py", line=10),
                tensor=Stats(shape=(8,), dtype="float32", device="cpu", size=8, bytes=32),
            ),
        ),
        downstream=(Neighbour(name="mean", op="mean", depth=1),),
        facts=(
            Fact(text="x was made here", location=Location(path="/project/train.py", line=11)),
            Fact(text="conv [8, 3] -> flatten [24]"),
        ),
    ),
)

MODULES = ModulesQuery(query="encoder.*", limit=50)
FOUND_MODULES = Modules(
    modules=(
        ModuleInfo(
            name="encoder.layers.3",
            class_name="TransformerEncoderLayer",
            parameters=198272,
            children=8,
        ),
    ),
    matching=1,
    total=42,
    note="Only the first model is shown.",
)
BREAKPOINTS = TensorBreakpoints(
    breakpoints=(
        TensorBreakpointState(
            id=1_000_000,
            filter="zentracer.nonfinite",
            label="NaN or Inf",
            source="view",
            condition="step > 10",
            module="encoder.*",
            verified=True,
            hits=12,
            last=LastHit(
                text=HIT.text,
                step=41,
                rank=0,
                origin=HIT.details.origin,
                tensor=HIT.details.tensor,
            ),
        ),
        TensorBreakpointState(
            id=1_000_001,
            filter="zentracer.nonfinite",
            label="NaN or Inf",
            source="editor",
            enabled=False,
            message="'foo' is not a name of conditions.",
        ),
    )
)

DATA_BREAKPOINTS = DataBreakpoints(
    breakpoints=(
        DataBreakpointState(
            id=3_000_000,
            pid=4711,
            data_id="t12",
            name="model.fc.weight",
            source="view",
            condition="changed > 0.02",
            verified=True,
            hits=3,
            last=LastHit(
                text="model.fc.weight changed by SGD.step: 2.1% of its norm, 512 of 512 elements.",
                step=41,
                rank=0,
                origin=HIT.details.origin,
                tensor=HIT.details.tensor,
            ),
        ),
        DataBreakpointState(
            id=3_000_001,
            pid=4711,
            data_id="t13[0, 5]",
            name="x[0, 5]",
            source="editor",
            message="The tensor x is gone.",
        ),
    )
)

EAGER = Eager(eager=True, regions=1, note="CUDA graphs go on replaying what was captured.")

_OF_TWO = Stats(
    shape=(2,), dtype="float32", device="cpu", size=2, bytes=8, min=0.5, max=1.0, mean=0.75
)
PATCH = PatchState(
    patch_id=1,
    target="fc.weight[0, 3:5]",
    text="scaled by 0.5",
    status="out_of_sync",
    message="fc.weight[0, 3:5] has changed since by something else.",
    before=_OF_TWO,
    after=_OF_TWO,
    old="[1, 2]",
    new="[0.5, 1]",
    notes=("the same memory is head.weight",),
    label="less",
    code="with torch.no_grad():\n    fc.weight[0, 3:5].mul_(0.5)",
    step=41,
    time=1796089278.0,
    where="train.py:12",
)
PATCHES = Patches(patches=(PATCH,), pid=4711)

EXAMPLES: dict[str, Any] = {
    "advice": Advice(
        rule="missing_zero_grad",
        label="Gradients are never reset",
        severity="warning",
        text="Gradients of 2 parameters were not reset (backward, step 3)",
        description="Gradients of 2 parameters were not reset\nTry: call opt.zero_grad()",
        details=HIT.details,
    ),
    "breakpoint": BreakpointStatus(id=2_000_000, verified=True),
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
        name="train.py",
    ),
    "notice": Notice(message="name 'y' is not defined", breakpoint_id=3),
    "step": Step(step=41, loss=math.nan, overhead=0.013),
    "cancel_evaluation.arguments": CancelEvaluation(request=41),
    "cancel_evaluation.body": Empty(),
    "compiled_lines": CompiledLines(
        eager=False,
        breakpoints=(
            CompiledLine(
                id=3,
                kind="compiled",
                message="Line 12 is part of forward, which torch.compile (at train.py:20) runs as "
                "generated code: the breakpoint is not hit.",
            ),
        ),
    ),
    "run_eagerly.arguments": RunEagerly(),
    "run_eagerly.body": EAGER,
    "modules.arguments": MODULES,
    "modules.body": FOUND_MODULES,
    "set_data_breakpoints.arguments": SetDataBreakpoints(
        breakpoints=(
            DataBreakpoint(id=3_000_000, data_id="t12", condition="changed > 0.02"),
            DataBreakpoint(id=3_000_001, data_id="t13[0, 5]", hit_condition=">= 3"),
        )
    ),
    "set_data_breakpoints.body": BreakpointStatuses(
        breakpoints=(
            BreakpointStatus(id=3_000_000, verified=True),
            BreakpointStatus(id=3_000_001, verified=False, message="The tensor x is gone."),
        )
    ),
    "set_function_breakpoints.arguments": SetFunctionBreakpoints(
        breakpoints=(
            FunctionBreakpoint(id=2_000_000, kind="module", name="encoder.*", condition="nan > 0"),
            FunctionBreakpoint(id=2_000_001, kind="step", name="", hit_condition="% 100"),
        )
    ),
    "set_function_breakpoints.body": BreakpointStatuses(
        breakpoints=(
            BreakpointStatus(id=2_000_000, verified=True),
            BreakpointStatus(id=2_000_001, verified=True),
        )
    ),
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
    "editor/breakpoints": BREAKPOINTS,
    "editor/findings": Findings(
        findings=(
            Finding(
                rule="zentracer.nonfinite",
                label="NaN or Inf",
                message=HIT.text,
                severity="error",
                source=HIT.details.origin,
                count=12,
                stack=HIT.details.stack,
                pid=4711,
                rank=0,
                details=HIT.details,
            ),
        )
    ),
    "editor/notice": Notice(message="ZenTracer is not available in this process."),
    "editor/processes": Processes(
        processes=(
            Process(
                pid=4710,
                python="3.11.7",
                version="0.1.0",
                name="train.py",
                frameworks=("torch 2.13.0",),
            ),
            Process(
                pid=4711,
                python="3.11.7",
                version="0.1.0",
                rank=1,
                parent_pid=4710,
                name="rank 1",
            ),
        )
    ),
    "editor/step": StepSeen(pid=4711, step=41, rank=1, loss=math.inf, overhead=0.013),
    "editor/eager_offer": EagerOffer(
        message="Line 12 is part of forward, which torch.compile (at train.py:20) runs as "
        "generated code: the breakpoint is not hit."
    ),
    "editor/patches": PATCHES,
    "editor/patches.arguments": Empty(),
    "editor/patches.body": PATCHES,
    "editor/apply_patch.arguments": ApplyPatch(
        target="fc.weight", op="scale", value="0.5", slice="0, 3:5", label="less", frame_id=3
    ),
    "editor/apply_patch.body": PATCH,
    "editor/undo_patch.arguments": PatchNumber(patch_id=1),
    "editor/undo_patch.body": PATCH,
    "editor/redo_patch.arguments": PatchNumber(patch_id=1),
    "editor/redo_patch.body": PATCH,
    "editor/run_eagerly.arguments": RunEagerly(eager=False),
    "editor/run_eagerly.body": EAGER,
    "editor/modules.arguments": MODULES,
    "editor/modules.body": FOUND_MODULES,
    "editor/data_breakpoints": DATA_BREAKPOINTS,
    "editor/set_data_breakpoints.arguments": SetViewDataBreakpoints(
        breakpoints=(
            ViewDataBreakpoint(
                data_id="t12", name="model.fc.weight", condition="nan > 0", hit_condition=">= 3"
            ),
            ViewDataBreakpoint(data_id="t13[0, 5]", name="x[0, 5]", enabled=False),
        )
    ),
    "editor/set_data_breakpoints.body": DATA_BREAKPOINTS,
    "editor/set_tensor_breakpoints.arguments": SetTensorBreakpoints(
        breakpoints=(
            TensorBreakpoint(
                filter="zentracer.nonfinite", condition="step > 10", module="encoder.*"
            ),
            TensorBreakpoint(filter="zentracer.nonfinite", enabled=False),
        )
    ),
    "editor/set_tensor_breakpoints.body": BREAKPOINTS,
    "editor/tensor.arguments": TensorQuery(
        view="image",
        expression="model.encoder.weight",
        frame_id=7,
        slice="0, :, 10:20",
        axes=(2, 1),
        channels=0,
        row=8,
        column=16,
        width=256,
        height=128,
    ),
    "editor/tensor.body": TensorView(
        view="image",
        expression="model.encoder.weight",
        type_name="Parameter",
        summary="float32[64, 64] cpu · leaf",
        stats=HIT.details.tensor,
        slice=":, :",
        axes=(0, 1),
        rows=64,
        columns=64,
        note="Every block is looked at in part.",
        histogram=Histogram(low=-1.0, high=1.0, counts=(3, 0, 9), sampled=True),
        image=Image(
            width=2,
            height=1,
            channels=1,
            row_step=64,
            column_step=32,
            data=_base64(struct.pack("<2f", 0.5, -0.25)),
            marks=_base64(bytes((0, 3))),
            lows=_base64(struct.pack("<2f", 0.0, -1.0)),
            highs=_base64(struct.pack("<2f", 1.0, 0.5)),
            sampled=True,
        ),
        page=Page(row=8, column=16, cells=(("1.5", "nan"), ("-inf", "0"))),
        history=History(
            kind="tensor",
            path="/project/train.py",
            points=(
                HistoryPoint(
                    time=1.75e9,
                    value=0.25,
                    stop=3,
                    step=41,
                    line=12,
                    low=-1.0,
                    high=1.5,
                    std=0.5,
                    norm=8.0,
                ),
                HistoryPoint(time=1.75e9 + 1, value=None, step=42, bad=4096),
            ),
            sampled=True,
            note="Between stops it is not read.",
        ),
    ),
}


def types() -> dict[str, Any]:
    """Every message of the protocol: its fixture's name and its type."""
    return {
        **_table("", EVENTS, REQUESTS),
        **_table("editor/", EDITOR_EVENTS, EDITOR_REQUESTS),
    }


def _table(prefix: str, events: dict[str, Any], requests: dict[str, Any]) -> dict[str, Any]:
    found = {f"{prefix}{name}": body for name, body in events.items()}
    for name, (arguments, body) in requests.items():
        found[f"{prefix}{name}.arguments"] = arguments
        found[f"{prefix}{name}.body"] = body
    return found


def render(name: str) -> str:
    """Text of the fixture ``name``: JSON, so non-finite floats are null."""
    return json.dumps(to_json(EXAMPLES[name]), indent=2, allow_nan=False) + "\n"


if __name__ == "__main__":
    (FIXTURES / "editor").mkdir(exist_ok=True)
    for example in EXAMPLES:
        (FIXTURES / f"{example}.json").write_text(render(example), encoding="utf-8")
