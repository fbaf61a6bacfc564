"""Concrete edits of the user's source line, made from its syntax tree.

RUNS IN the training process, only when there is something to report.
"""

from __future__ import annotations

import ast
from typing import Optional

from zentracer.control.source import Module, Place
from zentracer.wire.messages import TextEdit


def replace(place: Place, node: Optional[ast.AST], new_source: str) -> Optional[TextEdit]:
    """Return the edit that puts ``new_source`` where ``node`` stands; None if it spans lines."""
    module = place.module
    if module is None or node is None or not isinstance(node, (ast.expr, ast.stmt)):
        return None
    if node.lineno != node.end_lineno or node.end_col_offset is None:
        return None
    old = module.lines[node.lineno - 1].rstrip("\r\n")
    raw = old.encode()
    new = raw[: node.col_offset] + new_source.encode() + raw[node.end_col_offset :]
    return TextEdit(path=place.location.path, line=node.lineno, old_text=old, new_text=new.decode())


def call_method(module: Module, node: ast.AST, call: str) -> str:
    """Return ``<node>.<call>``, with brackets where the expression needs them."""
    return f"{bracketed(module, node)}.{call}"


def is_tight(node: ast.AST) -> bool:
    """Tell whether an expression needs no brackets in front of a dot."""
    return isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))


def bracketed(module: Module, node: ast.AST) -> str:
    """Return the source of ``node``, in brackets unless it binds tightly by itself."""
    text = module.text(node)
    return text if is_tight(node) else f"({text})"


def with_keyword(module: Module, node: ast.AST, keyword: str, value: str) -> Optional[str]:
    """Return the source of a call with one more keyword argument, or None if it is no call."""
    if not isinstance(node, ast.Call):
        return None
    text = module.text(node)
    if not text.endswith(")"):
        return None
    has_arguments = bool(node.args or node.keywords)
    return f"{text[:-1]}{', ' if has_arguments else ''}{keyword}={value})"
