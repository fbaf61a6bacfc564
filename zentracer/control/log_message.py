"""The message of a log point: text with expressions in braces, as in an f-string.

RUNS IN the training process. ``{x}``, ``{x!r}``, ``{x:.3f}`` and ``{x=}`` are values; ``{{`` and
``}}`` are braces. A tensor reads as its summary line. What fails is said inside the text, and the
program goes on.
"""

from __future__ import annotations

import ast
import io
import tokenize
from types import CodeType, FrameType
from typing import Any, List, NamedTuple, Optional, Tuple, Union

from zentracer.control import line_condition
from zentracer.control.pydevd.interrupt import EvaluationInterrupted
from zentracer.observe.stats import error_text
from zentracer.present.inline import inline

MOST = 4_000
"""Characters of one value."""


class LogMessage:
    """A compiled message."""

    def __init__(self, source: str) -> None:
        self._parts = _parsed(source)

    def text(self, frame: FrameType) -> str:
        """Return the text with the values of ``frame``; never raises but for an interruption."""
        return _text(self._parts, frame)


class _Field(NamedTuple):
    """One pair of braces."""

    code: CodeType
    source: str
    label: str
    """``x=`` of ``{x=}``"""
    conversion: str
    spec: Tuple[_Part, ...]

    def text(self, frame: FrameType) -> str:
        """Return the value as text, or why there is none."""
        try:
            value = line_condition.evaluate(self.code, frame, self.source)
            return self.label + self._formatted(value, _text(self.spec, frame))
        except (KeyboardInterrupt, EvaluationInterrupted):
            raise  # the user's own, for the program; and who waits for the thread
        except BaseException as error:  # not even exit() in a message may end the program
            return f"{self.label}<{error_text(error)}>"

    def _formatted(self, value: Any, spec: str) -> str:
        if self.conversion == "r":
            value = repr(value)
        elif self.conversion == "s":
            value = str(value)
        elif self.conversion == "a":
            value = ascii(value)
        text = inline(value, spec)
        return text if len(text) <= MOST else f"{text[:MOST]}…"


_Part = Union[str, _Field]


def _text(parts: Tuple[_Part, ...], frame: FrameType) -> str:
    return "".join([part if isinstance(part, str) else part.text(frame) for part in parts])


def _parsed(source: str) -> Tuple[_Part, ...]:
    parts: List[_Part] = []
    at = 0
    while at < len(source):
        mark = source[at]
        if mark in "{}" and source[at : at + 2] == mark * 2:
            parts.append(mark)
            at += 2
        elif mark == "{":
            part, at = _field(source, at)
            parts.append(part)
        else:
            parts.append(mark)
            at += 1
    return tuple(_joined(parts))


def _joined(parts: List[_Part]) -> List[_Part]:
    joined: List[_Part] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        else:
            joined.append(part)
    return joined


def _field(source: str, start: int) -> Tuple[_Part, int]:
    """Return what stands in the braces that open at ``start``, and where they end.

    An expression may itself hold braces, colons and quotes: the first closing brace that makes
    sense of what is before it is the one.
    """
    first = end = source.find("}", start)
    while end >= 0:
        field = _parsed_field(source[start + 1 : end])
        if field is not None:
            return field, end + 1
        end = source.find("}", end + 1)
    if first < 0:
        return source[start], start + 1
    inner = source[start + 1 : first]
    return f"<'{inner}' is no expression>" if inner.strip() else "", first + 1


def _parsed_field(inner: str) -> Optional[_Field]:
    code = _compiled(inner)
    if code is not None:
        return _Field(code, inner.strip(), "", "", ())
    head, spec = inner, ""
    while True:
        field = _with_mark(head, spec)
        if field is not None:
            return field
        cut = head.rfind(":")
        if cut < 0:
            return None
        head, spec = inner[:cut], inner[cut + 1 :]


def _with_mark(head: str, spec: str) -> Optional[_Field]:
    """Return the field for ``x``, ``x!r`` or ``x=``, with a format."""
    if spec.count("{") != spec.count("}"):
        return None
    conversion, label, source = "", "", head.rstrip()
    if source[-2:] in ("!r", "!s", "!a"):
        source, conversion = source[:-2].rstrip(), source[-1]
    if source.endswith("=") and source[-2:-1] not in ("=", "!", "<", ">"):
        source, label = source[:-1], head.lstrip()
    code = _compiled(source)
    if code is None:
        return None
    return _Field(code, source.strip(), label, conversion, _parsed(spec))


def _compiled(source: str) -> Optional[CodeType]:
    if not source.strip():
        return None
    try:
        text = f"({source.strip()}\n)"
        tree = ast.parse(text, "<log message>", "eval")
        if ":=" in text and _has_bare_walrus(text):
            return None
        return compile(tree, "<log message>", "eval", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _has_bare_walrus(text: str) -> bool:
    """Tell whether ``:=`` stands in no brackets but the outer ones: there it begins a format."""
    depth = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.OP:
            if depth == 1 and token.string == ":=":
                return True
            depth += (token.string in "([{") - (token.string in ")]}")
    return False
