"""``--break FILTER[:CONDITION]`` and ``--break module:GLOB[ if CONDITION]``: where to stop."""

from __future__ import annotations

import ast
import difflib
import re
from dataclasses import dataclass, field
from typing import Any

from zentracer.wire.filters import FILTERS, PREFIX
from zentracer_dap.headless.problem import UsageProblem

KINDS = ("module", "backward", "op", "step")
"""Kinds of breakpoints by name."""
ALL = "all"
"""Stands for every filter."""


@dataclass(frozen=True)
class Breaks:
    """What the user asked for."""

    filters: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The items of ``breakOn``."""
    functions: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The items of ``setFunctionBreakpoints``."""


def parse_breaks(options: list[str]) -> Breaks:
    """Read the options; none means the filters' defaults.

    Raises:
        UsageProblem: a filter has no such name, or a condition is not an expression.
    """
    breaks = Breaks()
    if not options:
        breaks.filters.extend({"filter": item.id} for item in FILTERS if item.default)
    for option in options:
        name = _function_name(option)
        if name is not None:
            breaks.functions.append(_function(name, option))
        else:
            breaks.filters.extend(_parse(option))
    return breaks


def _function_name(option: str) -> str | None:
    """Return what a breakpoint by name names; None if the option is about a filter."""
    name = option.partition(" if ")[0].strip()
    kind, colon, _ = name.partition(":")
    return name if kind in KINDS and (colon or kind == "step") else None


def _function(name: str, option: str) -> dict[str, Any]:
    if name.endswith(":") and name != "step:":
        raise UsageProblem(f"--break {option}: nothing follows the colon; write a name or a glob")
    if name.endswith(" if"):
        raise UsageProblem(
            f"--break {option}: nothing follows 'if'; leave it out or add a condition"
        )
    if " " in name:
        raise UsageProblem(
            f"--break {option}: a name has no spaces; a condition follows ' if ', as in "
            "'module:encoder.* if norm > 3'"
        )
    _, given, condition = option.partition(" if ")
    if not given:
        return {"name": name}
    condition = condition.strip()
    if not condition:
        raise UsageProblem(
            f"--break {option}: nothing follows 'if'; leave it out or add a condition"
        )
    _check_syntax(condition, option)
    return {"name": name, "condition": condition}


def _parse(option: str) -> list[dict[str, Any]]:
    name, colon, condition = option.partition(":")
    if " if " in name:  # as breakpoints by name have it
        name, colon, condition = option.partition(" if ")
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
    hint = _hint(short, short_names)
    offered = ", ".join(f"{item.id[len(PREFIX) :]} ({item.label})" for item in FILTERS)
    raise UsageProblem(
        f"--break: there is no filter {name!r}.{hint}\nFilters: {offered}\n"
        "By name: module:GLOB, backward:GLOB, op:GLOB, step, step:N"
    )


def _hint(name: str, filters: list[str]) -> str:
    kind, _, rest = name.lower().partition(":")
    kinds = difflib.get_close_matches(re.split(r"[^a-z]", kind)[0], KINDS, n=1, cutoff=0.7)
    if kinds:
        number = rest or "".join(re.findall(r"\d+$", kind))
        return f" Did you mean '{kinds[0]}{':' + number if number else ''}'?"
    near = difflib.get_close_matches(name.lower(), filters, n=1, cutoff=0.6)
    if near:
        return f" Did you mean {near[0]!r}?"
    is_function = name.replace(".", "_").isidentifier()
    return " Python functions can be named in an editor only." if is_function else ""


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
