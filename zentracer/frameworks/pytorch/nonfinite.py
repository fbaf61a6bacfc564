"""What a closer look at results and at the roots of backward finds: ``zentracer.nonfinite``.

RUNS IN the training process, when a cheap check has failed.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import torch

from zentracer.control import guards
from zentracer.control.source import Place, place_of
from zentracer.control.stop import is_debugger_busy
from zentracer.frameworks.pytorch import origin, report, upstream
from zentracer.frameworks.pytorch.explain import inner_operation
from zentracer.frameworks.pytorch.finite import counts, readable_tensor
from zentracer.frameworks.pytorch.frames import user_frame, variables
from zentracer.frameworks.pytorch.judge import Verdict, judge
from zentracer.frameworks.pytorch.modules import is_library, modules_on_stack, qualified_name
from zentracer.frameworks.pytorch.phase import phase_of
from zentracer.frameworks.pytorch.plans import Plan
from zentracer.frameworks.pytorch.report import Finding
from zentracer.frameworks.pytorch.scene import Scene
from zentracer.frameworks.pytorch.suggest import suggestions_for
from zentracer.frameworks.pytorch.unseen import is_tracing

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.watch import Watch


def forward_finding(
    watch: Watch, plan: Plan, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any,
    was_bad: bool, frame: types.FrameType,
) -> tuple[types.FrameType, Finding] | None:  # fmt: skip
    """Return what is to be told of a result, and the frame to stop; None if it is no news."""
    if is_debugger_busy() or frame.f_code.co_filename.endswith("grad_scaler.py"):
        return None
    if watch.overflowed and plan.in_place and not isinstance(args[0], torch.Tensor):
        return None  # a list, of which is not known what was in it before: gradients, clipped
    aftermath = watch.polluted or watch.overflowed
    verdict = judge(plan, args, kwargs, out, was_bad, aftermath)
    user = user_frame(frame)
    if verdict is None or user is None:
        return None
    place = place_of(user.f_code, user.f_lasti, plan.name)
    made = upstream.maker(verdict.bad_inputs) if not watch.polluted else None
    if made is not None:
        return user, upstream.finding(watch, made, verdict.bad_inputs, place)
    if verdict.inherited:
        return None
    if verdict.came_in is not None:
        return user, origin.came_in(watch, plan, verdict, place, user, args)
    if (
        place.module
        and place.node
        and guards.is_guarded(
            place.module, place.node, has_nan=bool(verdict.nan), value_of=variables(user).get
        )
    ):
        return None
    return user, _made_here(watch, plan, func, args, kwargs, verdict, place, user, frame)


def _made_here(
    watch: Watch, plan: Plan, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any],
    verdict: Verdict, place: Place, user: types.FrameType, frame: types.FrameType,
) -> Finding:  # fmt: skip
    modules = modules_on_stack(frame)
    module = qualified_name(modules[0], modules[-1]) if modules else None
    known = {}
    if modules:
        for name, parameter in modules[0].named_parameters(recurse=False):
            known[id(parameter)] = f"{module}.{name}" if is_library(modules[0]) else name
    inputs = report.named_inputs(place, args, verdict.inputs, known)
    in_library = bool(modules) and is_library(modules[0])
    inner = inner_operation(func, plan, args, kwargs) if not verdict.bad_inputs else None
    scene = Scene(
        plan.name, phase_of(watch, plan, modules), place, tuple(x for _, x in inputs), args,
        kwargs, verdict.tensor, module, inner=inner,
    )  # fmt: skip
    notes = []
    if plan.compiled:
        notes.append(
            f"{plan.name} is compiled: its lines do not run one by one, so this is the call."
        )
    if inner is not None and inner != plan.name:
        notes.append(f"Inside {plan.name}, the first bad value came out of {inner}.")
    return Finding(
        op=plan.name,
        phase=scene.phase,
        tensor=verdict.tensor,
        nan=verdict.nan,
        inf=verdict.inf,
        source=place,
        origin=place,
        subject=f"output of {module}" if in_library and module else f"output of {plan.name}",
        module=module,
        inputs=inputs,
        suggestions=suggestions_for(scene),
        finite_before=finite_before(verdict, inputs),
        note=" ".join(notes) or None,
    )


def finding_at_roots(
    watch: Watch, roots: tuple[Any, ...], frame: types.FrameType | None
) -> Finding | None:
    """Return a finding if backward starts from a bad value that was never reported."""
    if watch.polluted or frame is None or is_tracing():
        return None
    for root in roots:
        readable = readable_tensor(root)
        if readable is None or watch.defers(readable):
            continue
        nan, inf = counts(readable)
        if (nan or inf) and not watch.scaler_takes_care():
            return _root_finding(watch, root, readable, nan, inf, frame)
    return None


def _root_finding(
    watch: Watch, root: Any, readable: torch.Tensor, nan: int, inf: int, frame: types.FrameType
) -> Finding:
    place = place_of(frame.f_code, frame.f_lasti, "backward")
    above = upstream.maker([root])
    if above is not None:
        return upstream.finding(watch, above, [root], place)
    node = root.grad_fn
    site = watch.site_of_node(node) if node is not None else None
    made = place_of(site.code, site.lasti, site.op) if site else place
    name = node.name() if node is not None else "a leaf"
    return Finding(
        op=site.op if site else name,
        phase="loss",
        tensor=readable.detach(),
        nan=nan,
        inf=inf,
        source=place,
        origin=made,
        subject="the loss that backward starts from",
        note=f"it came out of {name}; the operation that made it first was not watched, "
        "for example inside a compiled region or an extension.",
    )


def finite_before(verdict: Verdict, inputs: tuple[tuple[str | None, torch.Tensor], ...]) -> str:
    """Return the sentence on what was still finite."""
    if verdict.bad_inputs:
        bad = {id(readable_tensor(x)) for x in verdict.bad_inputs}
        names = [name or "an input" for name, x in inputs if id(x) in bad]
        return f"{', '.join(names)} held infinities that are legal by themselves; no NaN before."
    names = [name for name, _ in inputs if name]
    if not names:
        return "All inputs were finite." if inputs else "There were no floating-point inputs."
    return f"{', '.join(names)} {'was' if len(names) == 1 else 'were'} finite."
