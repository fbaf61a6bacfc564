"""What to try: a sentence of why and, where one line can be mended, the edit.

RUNS IN the training process, when a finding is reported. One function per cause; each looks at the
operands and answers None if it does not apply.
"""

from __future__ import annotations

import ast
import dataclasses
from typing import Callable

import torch
from torch import Tensor

from zentracer.control import edits
from zentracer.control.source import call_name, operands
from zentracer.frameworks.pytorch.scene import (
    Scene,
    epsilon,
    fully_masked_rows,
    hint_logits,
    is_backward,
    is_fractional,
    is_half,
    is_receiver,
    largest,
    log_softmax,
    nth_operand,
    replace_text,
    smallest,
    too_short_for_ctc,
    wrap,
)
from zentracer.wire.messages import Suggestion

Rule = Callable[[Scene], "Suggestion | None"]


def suggestions_for(scene: Scene) -> tuple[Suggestion, ...]:
    """Return what to try, the most specific first."""
    for rules in (_RULES, _GENERAL_RULES):
        found = [suggestion for rule in rules if (suggestion := rule(scene)) is not None]
        if found:
            return tuple(map(sentence_case, found[:3]))
    return (sentence_case(_look_upstream(scene)),)


def sentence_case(suggestion: Suggestion) -> Suggestion:
    """Return ``suggestion`` with its title and reason starting as sentences do."""
    return dataclasses.replace(
        suggestion, title=_capitalised(suggestion.title), why=_capitalised(suggestion.why)
    )


def _capitalised(text: str) -> str:
    """Capitalise the first word unless it is code, such as ``eps=1e-8``."""
    return text[:1].upper() + text[1:] if text.split(" ")[0].isalpha() else text


def _log(scene: Scene) -> Suggestion | None:
    if scene.op not in {"log", "log2", "log10", "xlogy"} and not is_backward(scene, "Log"):
        return None
    operand = nth_operand(scene, 0)
    if operand is not None and call_name(operand) == "softmax":
        new = scene.place.module and log_softmax(scene, operand)
        return Suggestion(
            title="use log_softmax",
            why="softmax rounds small probabilities to 0, and log(0) is -inf; "
            "log_softmax computes the logarithm without that detour.",
            edit=new or None,
        )
    why = "log(0) is -inf and its derivative 1/x is infinite; keep the argument above zero."
    if smallest(scene) is not None and smallest(scene) < 0:  # type: ignore[operator]
        why = "the logarithm of a negative number is NaN; keep the argument above zero."
    eps = epsilon(scene)
    return Suggestion(
        title=f"clamp the argument of {scene.op.replace('Backward0', '')} to at least {eps}",
        why=why + hint_logits(operand),
        edit=wrap(scene, operand, f"clamp_min({eps})"),
    )


def _sqrt(scene: Scene) -> Suggestion | None:
    node = scene.place.node
    power = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)
    if scene.op not in {"sqrt", "rsqrt"} and not is_backward(scene, "Sqrt", "Rsqrt", "Pow"):
        return None
    if power and not is_fractional(node.right):  # type: ignore[union-attr]
        return None
    operand = nth_operand(scene, 0)
    eps = epsilon(scene)
    why = "the derivative of sqrt(x) is 1 / (2 sqrt(x)), infinite at x = 0; add a small constant."
    if scene.phase != "backward":
        why = "sqrt of a negative number is NaN and 1/sqrt(0) is infinite; keep it above zero."
    edit = None
    if operand is not None and scene.place.module is not None:
        # A sum that is raised to a power or asked for its root stands in brackets already.
        needs_brackets = edits.is_tight(operand) and (power or is_receiver(node, operand))
        new = f"{scene.place.module.text(operand)} + {eps}"
        edit = edits.replace(scene.place, operand, f"({new})" if needs_brackets else new)
    return Suggestion(title=f"add {eps} under the root", why=why, edit=edit)


def _divide(scene: Scene) -> Suggestion | None:
    if scene.op not in {"div", "reciprocal", "true_divide"} and not is_backward(
        scene, "Div", "Reciprocal"
    ):
        return None
    last = len(operands(scene.place.node)) - 1
    operand = nth_operand(scene, max(last, 0) if scene.op != "reciprocal" else 0)
    eps = epsilon(scene)
    what = scene.place.module.text(operand) if operand is not None and scene.place.module else "it"
    edit = wrap(scene, operand, f"clamp_min({eps})")
    why = f"the denominator {what} is 0 somewhere: 0/0 is NaN, x/0 is Inf."
    if operand is not None and "std" in what:
        why += " A constant slice has standard deviation 0."
        edit = replace_text(scene, operand, f"({what} + {eps})")
    elif operand is not None and "norm" in what:
        why += " torch.nn.functional.normalize(x, dim=...) guards this case."
    return Suggestion(title=f"keep the denominator at least {eps}", why=why, edit=edit)


def _masked_softmax(scene: Scene) -> Suggestion | None:
    softmax = {"softmax", "log_softmax", "scaled_dot_product_attention", "special_softmax",
               "multi_head_attention_forward", "_softmax", "logsumexp"}  # fmt: skip
    made_by = scene.inner or scene.op
    if made_by not in softmax and not is_backward(scene, "Softmax", "LogSoftmax", "Logsumexp"):
        return None
    rows = fully_masked_rows(scene)
    where = f" (rows {rows})" if rows else ""
    operand = nth_operand(scene, 0)
    edit = None
    if operand is not None and scene.op == "softmax" and isinstance(operand, ast.Name):
        name = operand.id
        edit = replace_text(scene, operand, f"{name}.clamp_min(torch.finfo({name}.dtype).min)")
    return Suggestion(
        title="give a fully masked row something finite",
        why=f"softmax over a row that is -inf everywhere{where} is 0/0. Mask with the dtype's "
        "lowest finite number, or leave rows without any valid position out.",
        edit=edit,
    )


def _exp(scene: Scene) -> Suggestion | None:
    if scene.op not in {"exp", "expm1", "exp2", "sinh", "cosh"} and not is_backward(scene, "Exp"):
        return None
    limit = 11 if is_half(scene.out, scene.inputs) else 80
    dtype = str(scene.out.dtype).replace("torch.", "") if scene.out is not None else "float32"
    high = f"; its largest input is {largest(scene):.4g}" if largest(scene) is not None else ""
    why = f"exp overflows {dtype} above about {11 if limit == 11 else 88}{high}."
    if scene.phase == "backward":
        why += (
            " The value is masked out in forward, but the zero gradient of the branch that is not "
            "taken times inf is NaN: bound the argument before exp, not the result after it."
        )
    return Suggestion(
        title=f"bound the argument of exp by {limit}",
        why=why,
        edit=wrap(scene, nth_operand(scene, 0), f"clamp(max={limit}.0)"),
    )


def _half(scene: Scene) -> Suggestion | None:
    if not is_half(scene.out, ()) or scene.optimizer is not None:
        return None
    return Suggestion(
        title="compute this step in float32 or bfloat16",
        why="float16 ends at 65504; the result is larger. Use torch.autocast with bfloat16, cast "
        "to float32 here, or scale the inputs down.",
        edit=None,
    )


def _one_element_std(scene: Scene) -> Suggestion | None:
    if scene.op not in {"std", "var", "std_mean", "var_mean"} and not is_backward(
        scene, "Std", "Var"
    ):
        return None
    module, node = scene.place.module, scene.place.node
    new = edits.with_keyword(module, node, "correction", "0") if module and node else None
    return Suggestion(
        title="use correction=0, or more than one element",
        why="the unbiased standard deviation divides by n - 1, which is 0 for one element.",
        edit=edits.replace(scene.place, node, new) if new else None,
    )


def _cross_entropy(scene: Scene) -> Suggestion | None:
    if scene.op not in {"cross_entropy", "nll_loss", "nll_loss_nd", "cross_entropy_loss"}:
        return None
    target = next((x for x in scene.args[1:2] if isinstance(x, Tensor)), None)
    ignored = scene.kwargs.get("ignore_index", -100)
    if target is None or target.is_floating_point() or not bool((target == ignored).all()):
        return None
    module, node = scene.place.module, scene.place.node
    edit = None
    if module is not None and isinstance(node, ast.Call) and len(node.args) >= 2:
        labels = module.text(node.args[1])
        summed = edits.with_keyword(module, node, "reduction", '"sum"')
        edit = edits.replace(
            scene.place, node, f"{summed} / ({labels} != {ignored}).sum().clamp(min=1)"
        )
    return Suggestion(
        title="divide by the number of labels, at least 1",
        why=f"every label equals ignore_index ({ignored}), so the mean divides by zero labels.",
        edit=edit,
    )


def _masked_target(scene: Scene) -> Suggestion | None:
    if scene.op not in {"cross_entropy", "nll_loss", "nll_loss_nd"} or not scene.inputs:
        return None
    if not bool((scene.inputs[0].detach() == -torch.inf).any()):
        return None
    return Suggestion(
        title="leave the target class unmasked",
        why="the logit of the target class is masked out with -inf: a class of probability 0 has "
        "an infinite loss. Check the mask, or ignore these targets.",
    )


def _ctc(scene: Scene) -> Suggestion | None:
    if scene.op != "ctc_loss":
        return None
    short = too_short_for_ctc(scene.args)
    module, node = scene.place.module, scene.place.node
    new = edits.with_keyword(module, node, "zero_infinity", "True") if module and node else None
    return Suggestion(
        title="pass zero_infinity=True, or drop the samples that are too short",
        why=short or "an input has fewer time steps than its target needs.",
        edit=edits.replace(scene.place, node, new) if new else None,
    )


def _inverse_trig(scene: Scene) -> Suggestion | None:
    name = scene.op.replace("Backward0", "").lower()
    if name not in {"acos", "asin", "arccos", "arcsin", "atanh", "logit", "erfinv", "acosh"}:
        return None
    return Suggestion(
        title=f"keep the argument of {name} inside its open interval",
        why=f"{name} or its derivative is infinite at the ends of its domain.",
        edit=wrap(scene, nth_operand(scene, 0), "clamp(-1 + 1e-6, 1 - 1e-6)"),
    )


def _empty_mean(scene: Scene) -> Suggestion | None:
    if scene.op not in {"mean", "median", "mse_loss", "l1_loss"} and "loss" not in scene.op:
        return None
    if not any(isinstance(x, Tensor) and x.numel() == 0 for x in scene.args):
        return None
    return Suggestion(
        title="skip the mean when nothing is selected",
        why="the mean of zero elements is 0/0; the selection before it was empty.",
        edit=None,
    )


def _norm_gradient(scene: Scene) -> Suggestion | None:
    if not is_backward(scene, "Norm", "LinalgVectorNorm", "Cdist", "Hypot"):
        return None
    return Suggestion(
        title="add a small constant before the norm",
        why="the gradient of a norm at the zero vector is 0/0.",
        edit=None,
    )


def _adam_eps(scene: Scene) -> Suggestion | None:
    optimizer = scene.optimizer
    if optimizer is None or scene.out is None:
        return None
    for group in optimizer.param_groups:
        eps = group.get("eps")
        if eps and torch.tensor(eps, dtype=scene.out.dtype).item() == 0:
            dtype = str(scene.out.dtype).replace("torch.", "")
            return Suggestion(
                title="raise eps, or keep float32 master weights",
                why=f"eps={eps:g} rounds to 0 in {dtype}, so elements without any gradient "
                f"divide 0 by 0 in {type(optimizer).__name__}; eps=1e-4 is representable.",
                edit=None,
            )
    return None


def _learning_rate(scene: Scene) -> Suggestion | None:
    highest = largest(scene)
    narrow = is_half(scene.out, scene.inputs)
    huge = highest is not None and highest > (1e3 if narrow else 1e12)
    if scene.optimizer is None and not (huge and scene.op not in {"exp", "log", "div"}):
        return None
    rates = [group.get("lr") for group in getattr(scene.optimizer, "param_groups", [])]
    now = (
        f" (it is {', '.join(format(float(rate), 'g') for rate in rates if rate)})" if rates else ""
    )
    size = f" Values have grown to {highest:.3g}." if highest is not None and huge else ""
    return Suggestion(
        title="lower the learning rate or clip the gradients",
        why=f"the values overflow because they grow from step to step{now}.{size} "
        "Try a tenth of the learning rate, or torch.nn.utils.clip_grad_norm_ before the step.",
        edit=None,
    )


def _look_upstream(scene: Scene) -> Suggestion:
    return Suggestion(
        title="look at the inputs of this operation",
        why="the inputs were finite, the result is not: the values listed above are at the edge of "
        "what the operation can represent.",
        edit=None,
    )


_RULES: tuple[Rule, ...] = (
    _cross_entropy, _masked_target, _ctc, _empty_mean, _one_element_std, _masked_softmax, _log,
    _sqrt, _divide, _exp, _inverse_trig, _norm_gradient, _adam_eps,
)  # fmt: skip
_GENERAL_RULES: tuple[Rule, ...] = (_half, _learning_rate)
"""Asked only when no rule knows a cause of its own."""
