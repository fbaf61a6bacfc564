"""``--break FILTER[:CONDITION]``: which findings the user asked for."""

from __future__ import annotations

import ast
import difflib
from typing import Any

from zentracer.wire.filters import FILTERS, PREFIX
from zentracer_dap.headless.problem import UsageProblem

ALL = "all"
"""Stands for every filter."""


def parse_breaks(options: list[str]) -> list[dict[str, Any]]:
    """Turn the options into the items of ``breakOn``; none means the filters' defaults.

    Raises:
        UsageProblem: a filter has no such name, or a condition is not an expression.
    """
    if not options:
        return [{"filter": item.id} for item in FILTERS if item.default]
    return [item for option in options for item in _parse(option)]


def _parse(option: str) -> list[dict[str, Any]]:
    name, colon, condition = option.partition(":")
    ids = [item.id for item in FILTERS] if name.strip() == ALL else [_filter_id(name.strip())]
    if not colon:
        return [{"filter": name} for name in ids]
    condition = condition.strip()
    _check_syntax(condition, option)
    return [{"filter": name, "condition": condition} for name in ids]


def _filter_id(name: str) -> str:
    short_names = [item.id[len(PREFIX) :] for item in FILTERS]
    short = name[len(PREFIX) :] if name.startswith(PREFIX) else name
    if short in short_names:
        return PREFIX + short
    near = difflib.get_close_matches(short.lower(), short_names, n=1, cutoff=0.4)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    offered = ", ".join(f"{item.id[len(PREFIX) :]} ({item.label})" for item in FILTERS)
    raise UsageProblem(f"--break: there is no filter {name!r}.{hint}\nFilters: {offered}")


def _check_syntax(condition: str, option: str) -> None:
    """Names are checked by the runtime, which knows them; it answers before the program starts."""
    if not condition:
        raise UsageProblem(f"--break {option}: nothing follows the colon; leave it out or add one")
    try:
        ast.parse(condition, mode="eval")
    except SyntaxError as error:
        raise UsageProblem(refusal(condition, _reason(error), _caret(error, condition))) from None
    except ValueError as error:  # a null byte
        raise UsageProblem(refusal(condition, f"the condition cannot be read: {error}")) from None


def refusal(condition: str, reason: str, caret: int | None = None) -> str:
    """Say why a condition cannot be used, with a mark under the place if it is known."""
    lines = [f"--break: {reason}", f"    {condition}"]
    if caret is not None:
        lines.append("    " + " " * caret + "^")
    return "\n".join(lines)


def _reason(error: SyntaxError) -> str:
    return f"the condition cannot be read: {error.msg or 'it is not a Python expression'}"


def _caret(error: SyntaxError, condition: str) -> int | None:
    if error.offset is None or error.lineno != 1:
        return None
    return min(max(error.offset - 1, 0), len(condition))
