"""Where a value that was already non-finite came from.

RUNS IN the training process, when an operation meets NaN that no watched operation made: a batch
from the loader, a file, an uninitialised parameter, a compiled region.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from zentracer.control.pydevd.usercode import is_user_code
from zentracer.control.source import (
    Place,
    attribute_assignment,
    binding_line,
    function_node,
    parsed,
)
from zentracer.frameworks.pytorch import report
from zentracer.frameworks.pytorch.finite import counts, readable_tensor, tensors_in
from zentracer.frameworks.pytorch.frames import user_frames, variables
from zentracer.frameworks.pytorch.judge import Verdict
from zentracer.frameworks.pytorch.modules import (
    Owner,
    modules_on_stack,
    owner_of,
    qualified_name,
    root_modules,
)
from zentracer.frameworks.pytorch.phase import phase_of
from zentracer.frameworks.pytorch.plans import Plan
from zentracer.frameworks.pytorch.report import Finding
from zentracer.wire.messages import Location, Suggestion

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.watch import Watch


def came_in(
    watch: Watch, plan: Plan, verdict: Verdict, place: Place, frame: types.FrameType,
    args: tuple[Any, ...],
) -> Finding:  # fmt: skip
    """Return the finding for an operation whose input was non-finite before."""
    value = verdict.came_in
    assert value is not None
    modules = modules_on_stack(frame)
    owner = owner_of(value, modules[-1:] or root_modules())
    readable = readable_tensor(value)
    nan, inf = counts(readable) if readable is not None else (verdict.nan, verdict.inf)
    inputs = report.named_inputs(place, args, verdict.inputs, {})
    if owner is not None:
        return _parameter_finding(plan, owner, value, nan, inf, place, inputs)
    name = next((name for name, x in inputs if x is value and name), None)
    brought = brought_in_by(value, frame)
    what = f"{name} (an input of {plan.name})" if name else f"an input of {plan.name}"
    compiled = _compiled_note(value)
    return Finding(
        op=plan.name,
        phase=phase_of(watch, plan, modules),
        tensor=value,
        nan=nan,
        inf=inf,
        source=place,
        origin=Place(brought, None, None) if brought else place,
        subject=f"{what}, which came in with the data" if not compiled else what,
        module=qualified_name(modules[0], modules[-1]) if modules else None,
        inputs=inputs,
        suggestions=(_check_the_data(name),),
        finite_before="The model's own values were finite before this input.",
        note=compiled,
    )


def _parameter_finding(
    plan: Plan, owner: Owner, value: Tensor, nan: int, inf: int, place: Place,
    inputs: tuple[tuple[str | None, Tensor], ...],
) -> Finding:  # fmt: skip
    made = _assignment_of(owner)
    kind = "parameter" if isinstance(value, nn.Parameter) else "buffer"
    return Finding(
        op=plan.name,
        phase="forward",
        tensor=value,
        nan=nan,
        inf=inf,
        source=place,
        origin=Place(made, None, None) if made else place,
        subject=f"{kind} {owner.attribute} of {type(owner.module).__name__}",
        module=owner.module_name or type(owner.module).__name__,
        inputs=inputs,
        suggestions=(
            Suggestion(
                title=f"Initialise {owner.attribute}",
                why=f"The {kind} held non-finite values before any step was taken: memory from "
                "torch.empty is not initialised, and a checkpoint may hold NaN. Fill it, e.g. "
                "with torch.nn.init, or check what was loaded.",
            ),
        ),
        finite_before="Everything that was computed before was finite.",
    )


def _assignment_of(owner: Owner) -> Location | None:
    """Return the line of the owner's class that assigns the attribute."""
    for cls in type(owner.module).__mro__:
        init = cls.__dict__.get("__init__")
        code = getattr(init, "__code__", None)
        if code is None or not is_user_code(code):
            continue
        line = attribute_assignment(code.co_filename, code.co_firstlineno, owner.attribute)
        if line is not None:
            return location(code.co_filename, line, f"{cls.__name__}.__init__")
    return None


def brought_in_by(value: Tensor, frame: types.FrameType) -> Location | None:
    """Return the line that bound the data in the outermost user frame that holds it."""
    key = _storage(value)
    best: Location | None = None
    for user in user_frames(frame):
        module = parsed(user.f_code.co_filename)
        if module is None:
            continue
        scope = function_node(module, user.f_code)
        values = variables(user)
        for name, local in list(values.items()):
            if not _holds(local, key):
                continue
            line = binding_line(module, scope, name, user.f_lineno, values)
            if line is not None:
                best = location(user.f_code.co_filename, line, user.f_code.co_name)
    return best


def location(path: str, line: int, function: str | None = None) -> Location:
    """Return the location of a whole line."""
    module = parsed(path)
    text = module.lines[line - 1].rstrip("\r\n") if module and line <= len(module.lines) else None
    return Location(path=path, line=line, function=function, text=text)


def _holds(value: Any, key: int) -> bool:
    if isinstance(value, (Tensor, tuple, list, dict)):
        return any(_storage(x) == key for x in tensors_in(value, depth=2))
    return False


def _storage(x: Tensor) -> int:
    try:
        return x.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):  # sparse, fake and wrapper tensors have none
        return id(x)


def _compiled_note(value: Tensor) -> str | None:
    name = type(value.grad_fn).__name__ if value.grad_fn is not None else ""
    if "Compiled" in name or "DifferentiableGraph" in name:
        return "it was made inside a compiled region, whose lines do not run one by one."
    return None


def _check_the_data(name: str | None) -> Suggestion:
    what = name or "the batch"
    return Suggestion(
        title="Clean the data before it reaches the model",
        why=f"{what} was non-finite when it was first used. Check the file and each step of its "
        f"preparation, e.g. assert torch.isfinite({name or 'x'}).all() in the dataset.",
    )
