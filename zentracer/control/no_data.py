"""Why an expression failed, where the reason is a tensor that has no elements to look at.

RUNS IN the training process, after an evaluation has raised.
"""

from __future__ import annotations

import ast
from typing import Any, Dict, Mapping, Optional

from zentracer.observe.facts import FAKE, FREED, LAZY, META
from zentracer.observe.kinds import TORCH, array_kind
from zentracer.observe.stats import facts_of

_REASONS = (FAKE, FREED, LAZY, META)


def explained(
    error: BaseException, expression: str, space: Dict[str, Any], names: Mapping[str, Any]
) -> Optional[str]:
    """Say what ``error`` comes from: the first tensor without data in ``expression``.

    Only names and attributes are looked at: what the expression itself has looked at before.

    Returns:
        None if there is no such tensor, or ``error`` says so itself.
    """
    from zentracer.present.arrays import head
    from zentracer.zt.errors import ZtError

    if isinstance(error, ZtError):
        return None
    try:
        tree = ast.parse(expression.strip(), "<expression>", "eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # the mistake is another one
    for node in ast.walk(tree):
        if isinstance(node, (ast.Attribute, ast.Name)) and _is_plain(node):
            value = _value(node, space, names)
            facts = facts_of(value) if array_kind(type(value)) == TORCH else None
            if facts is not None and facts.why in _REASONS and facts.data is None:
                device, _, rest = facts.why.partition(": ")
                why = rest if device == facts.device else facts.why
                said = f"{type(error).__name__}: {error}"
                return f"{ast.unparse(node)} is {head(facts)}: {why} ({said})"
    return None


def _is_plain(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _value(node: ast.expr, space: Dict[str, Any], names: Mapping[str, Any]) -> Any:
    try:
        code = compile(ast.Expression(node), "<expression>", "eval", dont_inherit=True)
        return eval(code, space, dict(names))
    except Exception:  # this part is not what can be looked at; the error at hand is said anyway
        return None
