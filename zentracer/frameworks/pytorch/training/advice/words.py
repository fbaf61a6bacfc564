"""What names in the source say about what a piece of code is for.

RUNS IN the training process, when something is about to be told.
"""

from __future__ import annotations

import ast
import re
import types

from zentracer.control.source import (
    Module,
    ancestors,
    call_name,
    function_node,
    parsed,
    place_of,
    statement_of,
)

_EVALUATES = frozenset(
    """
    val validate validates validation validating test tests testing tested eval evaluate evaluates
    evaluation evaluating evaluator predict predicts prediction predictions infer inference
    accuracy acc correct metric metrics auc bleu perplexity ppl
    """.split()
)
_VALID = "valid"  # alone it is often a mask, or the label of a discriminator
_VALID_WITH = frozenset("loader set data dataset dl loss acc iter epoch batch batches x y".split())
_MEANT = frozenset(
    """
    fake fakes generator discriminator teacher student ema momentum mc monte uncertainty uncertain
    bayes bayesian ensemble stochastic rollout rollouts action actions obs observation env reward
    rewards bn batchnorm calibrate calibration recalibrate warmup pseudo augment queue dropout
    samples passes
    """.split()
)
_NO_GRAD = frozenset(["no_grad", "inference_mode", "set_grad_enabled"])
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def words_of(name: str) -> frozenset[str]:
    """Return the words of an identifier: ``valLoader`` and ``val_loader`` hold ``val``."""
    return frozenset(part.lower() for part in _PART.findall(name))


def is_evaluation(frames: list[types.FrameType]) -> bool:
    """Tell whether the code around the running lines is named like an evaluation.

    Looks at the names in the surrounding ``with torch.no_grad():`` block, at the loops around the
    line and, unless the function also trains, at the function's name. Of outer frames only those
    count that are in such a block.
    """
    names: set[str] = set()
    for depth, frame in enumerate(frames):
        names |= _names_at(frame, only_in_block=depth > 0)
    if any(words_of(name) & _MEANT for name in names):
        return False
    return any(_says_evaluation(words_of(name)) for name in names)


def is_discarded(frame: types.FrameType) -> bool:
    """Tell whether the running line is a call whose result nobody takes."""
    module = parsed(frame.f_code.co_filename)
    node = place_of(frame.f_code, frame.f_lasti).node
    if module is None or node is None:
        return False
    return isinstance(module.parents.get(node), ast.Expr)


def trains(scope: ast.AST) -> bool:
    """Tell whether a function computes gradients itself."""
    return any(call_name(node) == "backward" for node in ast.walk(scope))


def identifiers(node: ast.AST) -> set[str]:
    """Return the names, attributes, keywords and short strings in a piece of source."""
    found: set[str] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            found.add(inner.id)
        elif isinstance(inner, ast.Attribute):
            found.add(inner.attr)
        elif isinstance(inner, ast.keyword) and inner.arg:
            found.add(inner.arg)
    return found


def _names_at(frame: types.FrameType, *, only_in_block: bool) -> set[str]:
    module = parsed(frame.f_code.co_filename)
    if module is None:
        return set()
    scope = function_node(module, frame.f_code)
    node = place_of(frame.f_code, frame.f_lasti).node
    start = node or _statement_at(module, scope, frame.f_lineno)
    if start is None:
        return set()
    names: set[str] = set()
    block: ast.AST | None = None
    for parent in ancestors(module, start):
        if parent is scope:
            break
        if isinstance(parent, (ast.With, ast.AsyncWith)) and _is_no_grad(parent):
            block = parent
        if isinstance(parent, (ast.For, ast.AsyncFor)) and not trains(parent):
            names |= identifiers(parent.iter) | identifiers(parent.target)
    if only_in_block and block is None:
        return set()
    if isinstance(scope, _FUNCTIONS) and not trains(scope):
        names.add(scope.name)
        block = block or scope
    for part in (block, statement_of(module, start)):
        names |= identifiers(part) if part is not None else set()
    return names - {"eval"}


def _is_no_grad(node: ast.With | ast.AsyncWith) -> bool:
    return any(call_name(item.context_expr) in _NO_GRAD for item in node.items)


def _says_evaluation(words: frozenset[str]) -> bool:
    if words & _EVALUATES:
        return "train" not in words
    return _VALID in words and bool(words & _VALID_WITH)


def _statement_at(module: Module, scope: ast.AST, line: int) -> ast.stmt | None:
    found = [
        node
        for node in ast.walk(scope)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return max(found, key=lambda node: node.lineno, default=None)
