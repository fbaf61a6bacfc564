"""DAP messages as JSON objects, and how they are written."""

from __future__ import annotations

import json
from typing import Any, cast

Json = dict[str, Any]
"""A JSON object. Messages stay plain objects so that unknown fields pass through."""


class NotJson(Exception):
    """The content of a message is not a DAP message."""


def parse(content: bytes) -> Json:
    """Return the message in ``content``.

    Raises:
        NotJson: the content is not a JSON object with the fields every message has.
    """
    try:
        message: Any = json.loads(content)
    except ValueError as error:  # invalid UTF-8 as well as invalid JSON
        raise NotJson(f"not JSON: {error}") from None
    except RecursionError:
        raise NotJson("not JSON: nested too deeply") from None
    if not isinstance(message, dict):
        raise NotJson("not a JSON object")
    problem = _problem(cast(Json, message))
    if problem:
        raise NotJson(problem)
    return cast(Json, message)


def encode(message: Json) -> bytes:
    """Return ``message`` as JSON. ASCII only: a lone surrogate from a program's output survives."""
    return json.dumps(message, separators=(",", ":")).encode("ascii")


def body_of(message: Json) -> Json:
    """Return the body of a response or event, empty where it has none."""
    return cast(Json, message.get("body") or {})


def arguments_of(request: Json) -> Json:
    """Return the arguments of a request, empty where it has none."""
    arguments: Any = request.get("arguments")
    return cast(Json, arguments) if isinstance(arguments, dict) else {}


_NAMED = {"request": "command", "event": "event", "response": "request_seq"}


def _problem(message: Json) -> str | None:
    kind = message.get("type")
    if kind not in _NAMED:
        return f"'type' is {kind!r}, not request, response or event"
    field = _NAMED[kind]
    wanted = int if kind == "response" else str
    if not isinstance(message.get(field), wanted):
        return f"a {kind} without a valid {field!r}"
    if kind == "request" and not isinstance(message.get("seq"), int):
        return "a request without a valid 'seq'"
    return None
