"""The user's expression, evaluated once in the stopped frame.

RUNS IN the user's training process, on the stopped thread.
"""

from __future__ import annotations

import ast
import textwrap
from typing import Any, Dict, Optional

from zentracer import zt
from zentracer.control.pydevd.interrupt import EvaluationInterrupted
from zentracer.observe.stats import error_text

_LONGEST = 100
"""Characters of an expression that are quoted."""


class Refused(Exception):
    """There is nothing to show; the text is a sentence for the user."""


def value_of(expression: str, scope: Dict[str, Any], names: Dict[str, Any]) -> Any:
    """Evaluate ``expression`` with the globals ``scope`` and the locals ``names``.

    Raises:
        Refused: it is no expression, or it raised.
    """
    try:
        tree = ast.parse(textwrap.dedent(expression).strip(), "<expression>", "eval")
        code = compile(_Mangled(names).visit(tree), "<expression>", "eval", dont_inherit=True)
    except SyntaxError as error:
        raise Refused(_sentence(expression, f"SyntaxError: {error.msg}")) from None
    except (ValueError, RecursionError, MemoryError) as error:
        # A null byte, or nesting beyond what Python's own parser can take.
        raise Refused(_sentence(expression, error_text(error))) from None
    if zt.NAME in code.co_names and zt.NAME not in scope and zt.NAME not in names:
        names = {**names, zt.NAME: zt.at(None, expression)}
    try:
        return eval(code, scope, names)
    except EvaluationInterrupted:  # by us, who say why
        raise
    except BaseException as error:  # not even exit() in an expression may end the program
        raise Refused(_sentence(expression, error_text(error))) from None


def quoted(expression: Optional[str]) -> str:
    """The expression in backquotes, on one line."""
    text = " ".join((expression or "").split())
    return f"`{text}`" if len(text) <= _LONGEST else f"`{text[: _LONGEST - 1]}…`"


def _sentence(expression: str, problem: str) -> str:
    return f"{quoted(expression)} cannot be evaluated here: {problem.rstrip('.')}."


class _Mangled(ast.NodeTransformer):
    """Finds ``self.__weight`` under the name that its class gave it, as a watch does."""

    def __init__(self, names: Dict[str, Any]) -> None:
        self._names = names

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Rename a private attribute of a plain name."""
        self.generic_visit(node)
        is_private = node.attr.startswith("__") and not node.attr.endswith("__")
        if is_private and isinstance(node.value, ast.Name) and node.value.id in self._names:
            owner = self._names[node.value.id]
            candidates = (f"_{c.__name__.lstrip('_')}{node.attr}" for c in type(owner).__mro__)
            node.attr = next((name for name in candidates if _has(owner, name)), node.attr)
        return node


def _has(owner: Any, name: str) -> bool:
    try:
        return hasattr(owner, name)
    except Exception:  # the object's own __getattr__; the expression itself will say it
        return False
