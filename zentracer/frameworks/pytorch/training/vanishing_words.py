"""What is said of vanishing gradients, and what is proposed against them.

RUNS IN the training process, when there is something to tell. The proposals follow from what the
model really consists of: its activations, its normalisation, the spread of its weights.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
from typing import Any

from zentracer.control import edits
from zentracer.control.source import Place, call_name, parsed, place_of
from zentracer.frameworks.pytorch.finite import readable_tensor
from zentracer.frameworks.pytorch.origin import location
from zentracer.frameworks.pytorch.report import Finding
from zentracer.frameworks.pytorch.suggest import sentence_case
from zentracer.frameworks.pytorch.training import causes, initial
from zentracer.frameworks.pytorch.training.candidate import Candidate
from zentracer.frameworks.pytorch.training.depth import Fall, size_of
from zentracer.frameworks.pytorch.training.events import Backward
from zentracer.frameworks.pytorch.training.exploding_words import LATE
from zentracer.frameworks.pytorch.training.layers import Graph, gain_of, graph_of, spread_of
from zentracer.frameworks.pytorch.training.norms import Sample
from zentracer.frameworks.pytorch.training.table import table
from zentracer.wire.filters import VANISHING
from zentracer.wire.messages import Suggestion, TextEdit

_ROWS = 13
_SQUASHING = {
    "Sigmoid": (("SigmoidBackward0", "LogSigmoidBackward0"), 0.25),
    "Tanh": (("TanhBackward0",), 1.0),
}
"""Activations that flatten out: the nodes they make, and the largest slope they have."""
_LOW_GAIN = 0.5
"""Times He's initialisation below which each layer halves what passes through it."""
_SMALL = 0.75
"""Weights that leave so much less of a gradient than the activation does are the first cause:
torch's own initialisation leaves 0.41 of it with ReLU and 0.58 with tanh, the sigmoid 0.25."""
_TO_GLOROT = 2**0.5
"""What a layer leaves, over its spread in terms of He's; that has 2 for the half ReLU cuts off."""


def fall(found: Fall, sample: Sample, run: Backward, count: int) -> Finding:
    """Return the finding of gradients that do not reach the first layers."""
    worst, last = found.worst, found.layers[0]
    size = size_of(worst.norm or 0.0, worst.parameter.numel())
    over = f", {count} passes in a row" if count > 1 else ""
    layers = f"{len(found.layers)} layers"
    if found.is_even:
        numbers = (
            f"the gradients of the weights of all {layers} are at most {found.share:.2g} times "
            f"that of the last bias{over}: next to nothing arrives at the last layer"
        )
    else:
        numbers = (
            f"rms {size:.3g} is {found.share:.2g} of that of the last layer "
            f"({last.candidates[0].name}, {last.size:.3g}); each of {layers} leaves about "
            f"{found.factor:.2g} of it{over}"
        )
    graph = graph_of(run.roots)
    finding = _finding(worst, numbers, sample)
    finding.evidence = _rows(found)
    finding.suggestions = tuple(map(sentence_case, _causes(found, graph)))
    return finding


def below_threshold(
    candidate: Candidate, ranked: list[Candidate], sample: Sample, run: Backward
) -> Finding:
    """Return the finding of a condition of the user's own."""
    finding = _finding(candidate, f"norm {candidate.norm or 0.0:.3g}", sample)
    finding.evidence = table([c.name, f"norm {c.norm or 0.0:.3g}"] for c in ranked[:_ROWS])
    return finding


def _finding(worst: Candidate, numbers: str, sample: Sample) -> Finding:
    frame = worst.frame
    source = place_of(frame.f_code, frame.f_lasti, "backward")
    gradient = readable_tensor(worst.x)
    return Finding(
        op=worst.operation,
        phase="backward",
        tensor=gradient.detach() if gradient is not None else None,
        nan=0,
        inf=0,
        source=source,
        origin=worst.origin(source),
        subject=f"gradient of {worst.name}",
        module=worst.module_name,
        note=LATE if sample.is_late else None,
        frame=frame,
        filter=VANISHING,
        headline=f"Vanishing gradient in {worst.name}",
        numbers=numbers,
        values={"norm": worst.norm, "ratio": None},
    )


def _rows(found: Fall) -> tuple[str, ...]:
    """Return the layers from the input to the loss; of many the outer ones."""
    layers = list(reversed(found.layers))
    rows = [
        [
            layer.candidates[0].name,
            f"rms {layer.size:.3g}",
            f"{layer.size / found.layers[0].size:.2g} of the last layer's",
        ]
        for layer in layers
    ]
    if len(rows) > _ROWS:
        half = (_ROWS - 1) // 2
        rest = len(rows) - 2 * half
        rows = [*rows[:half], [f"… {rest} more", "", ""], *rows[-half:]]
    return table(rows)


# -- causes ----------------------------------------------------------------------------------------


def _causes(found: Fall, graph: Graph) -> list[Suggestion]:
    """Return what to try, beginning with what takes most of the gradient."""
    named = found.worst.named
    root = named.root() if named is not None else None
    squashing = _squashing(root, graph)
    gain, typical = _typical(found)
    has_norm = causes.normalises(root, graph)
    kept = gain if squashing is None else gain * _TO_GLOROT
    are_weights_small = not has_norm and kept < (squashing[2] if squashing else 1.0) * _SMALL
    first: list[Suggestion | None] = []
    if squashing is not None:
        first.append(_other_activation(found, root, graph, *squashing))
    first.append(causes.normalisation(root, graph))
    weights = _initialisations(squashing[0] if squashing else "ReLU", gain, typical)
    if are_weights_small:
        suggestions = [weights[0], *first, *weights[1:]]
    else:
        suggestions = [*first, *(dataclasses.replace(way, edit=None) for way in weights)]
    if squashing is None and has_norm:
        suggestions.append(
            Suggestion(
                title="Add residual connections",
                why="x + layer(x) gives the gradient a way around each layer (He et al. 2016).",
            )
        )
    return [suggestion for suggestion in suggestions if suggestion is not None]


def _typical(found: Fall) -> tuple[float, Candidate]:
    """Return the middle one of the layers' spreads, in terms of He's, and whose it is."""
    gains = [
        (gain, c)
        for layer in found.layers
        for c in layer.candidates
        if (gain := gain_of(c.parameter)) is not None
    ]
    ranked = sorted(gains, key=lambda pair: pair[0])
    return ranked[len(ranked) // 2] if ranked else (1.0, found.worst)


def _squashing(root: Any, graph: Graph) -> tuple[str, int, float] | None:
    """Return the flattening activation that the graph passes most often, its count and slope."""
    found = [
        (sum(graph.operations.get(node, 0) for node in nodes), name, slope)
        for name, (nodes, slope) in _SQUASHING.items()
    ]
    count, name, slope = max(found)
    return (name, count, slope) if count >= 2 else None


def _other_activation(
    found: Fall, root: Any, graph: Graph, name: str, count: int, slope: float
) -> Suggestion:
    shrinks = (
        f"each passes on at most {slope:g} of it"
        if slope < 1
        else "each passes less on than it gets"
    )
    return Suggestion(
        title=f"Use ReLU (or GELU) in place of {name}",
        why=f"the gradient passes {count} of them, and {shrinks}: {slope:g}^{count} = "
        f"{slope**count:.2g} at best."
        if slope < 1
        else f"the gradient passes {count} of them, and {shrinks} wherever they flatten out.",
        edit=_replace_activation(root, name),
    )


def _replace_activation(root: Any, name: str) -> TextEdit | None:
    """Return the edit of the line that makes the activation, if the model's file has just one."""
    code = (
        getattr(inspect.unwrap(type(root).__init__), "__code__", None) if root is not None else None
    )
    path = getattr(code, "co_filename", None) or getattr(
        sys.modules.get(type(root).__module__), "__file__", None
    )
    module = parsed(path) if path is not None else None
    if path is None or module is None:
        return None
    calls = [
        node for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and call_name(node) == name and not node.args
    ]  # fmt: skip
    if len(calls) != 1:
        return None
    call = calls[0]
    text = module.text(call.func)
    place = Place(location(path, call.lineno), module, call)
    return edits.replace(place, call, f"{text[: -len(name)]}ReLU()")


def _initialisations(activation: str, gain: float, typical: Candidate) -> list[Suggestion]:
    """Return three initialisations, the one for ``activation`` first.

    What the weights are like now says why; the line that makes them so gets an edit.
    """
    now = f"the weights' spread is {gain:.2g} times He's initialisation"
    if gain < _LOW_GAIN:
        now += ", so each layer shrinks what passes through it"
    xavier_gain = {"Sigmoid": "4.0", "Tanh": "5 / 3"}.get(activation, "2**0.5")
    ways = [
        (
            "He's (Kaiming) method, made for ReLU",
            "for m in model.modules(): if isinstance(m, (nn.Linear, nn.Conv2d)): "
            'nn.init.kaiming_normal_(m.weight, nonlinearity="relu")',
            initial.HE,
        ),
        (
            "Glorot's (Xavier) method, made for tanh and sigmoid",
            "it keeps the size of activations and of gradients about alike: "
            f"nn.init.xavier_uniform_(m.weight, gain={xavier_gain})",
            initial.glorot(xavier_gain),
        ),
    ]
    if activation in _SQUASHING:
        ways.reverse()
    (title, why, method), (other, other_why, _) = ways
    spread = spread_of(typical.parameter)
    edit = initial.edit_of(typical, spread, method) if spread is not None else None
    return [
        Suggestion(title=f"Initialise with {title}", why=f"{now}. {why}", edit=edit),
        Suggestion(title=f"Or with {other}", why=other_why),
        Suggestion(
            title="Or with orthogonal matrices",
            why="they neither stretch nor shrink in any direction (Saxe et al. 2014): "
            f"nn.init.orthogonal_(m.weight, gain={xavier_gain})",
        ),
    ]
