"""JSON Schema of every message, for generated code and for readers.

RUNS IN development only: ``python -m zentracer.wire.schema [FILE]`` needs msgspec. The types of
other languages are generated from this schema.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
import textwrap
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

from zentracer.wire import EVENTS, PROTOCOL_VERSION, REQUESTS
from zentracer.wire.editor import EDITOR_EVENTS, EDITOR_REQUESTS
from zentracer.wire.filters import FILTERS
from zentracer.wire.launch import CONFIGURATIONS

__all__ = ["build", "components", "render"]


def build() -> Dict[str, Any]:
    """Return the schema: protocol version, messages, configurations and their definitions."""
    bodies: List[Any] = [*EVENTS.values(), *EDITOR_EVENTS.values(), *CONFIGURATIONS.values()]
    for arguments, answer in (*REQUESTS.values(), *EDITOR_REQUESTS.values()):
        bodies += [arguments, answer]
    references, definitions = components(bodies)
    by_body: Dict[Any, Any] = dict(zip(bodies, references))

    def tables(events: Dict[str, Any], requests: Dict[str, Any]) -> Dict[str, Any]:
        return {
            "events": {name: by_body[body] for name, body in events.items()},
            "requests": {
                name: {"arguments": by_body[arguments], "body": by_body[answer]}
                for name, (arguments, answer) in requests.items()
            },
        }

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ZenTracer messages",
        "protocol_version": PROTOCOL_VERSION,
        "link": tables(EVENTS, REQUESTS),
        "editor": tables(EDITOR_EVENTS, EDITOR_REQUESTS),
        "configurations": {name: by_body[body] for name, body in CONFIGURATIONS.items()},
        "filters": [
            {"id": f.id, "label": f.label, "default": f.default, "description": f.description}
            for f in FILTERS
        ],
        "$defs": definitions,
    }


def components(bodies: List[Any]) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
    """Return a reference to each body, and the definitions, with the docstrings of the fields."""
    import msgspec.json  # a development tool, absent where training runs

    references, definitions = msgspec.json.schema_components(bodies, ref_template="#/$defs/{name}")
    for module in {inspect.getmodule(body) for body in bodies}:
        for name, field, text in _field_docs(module):
            described = definitions.get(name, {}).get("properties", {}).get(field)
            if described is not None:
                described["description"] = text
    return tuple(references), definitions


def _field_docs(module: Any) -> Iterator[Tuple[str, str, str]]:
    """Yield class, field and the string that stands below the field."""
    for statement in ast.parse(inspect.getsource(module)).body:
        if not isinstance(statement, ast.ClassDef):
            continue
        for field, text in zip(statement.body, statement.body[1:]):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
            ):
                yield statement.name, field.target.id, _one_paragraph(str(text.value.value))


def _one_paragraph(text: str) -> str:
    return " ".join(textwrap.dedent(text).split())


def render() -> str:
    """Return the schema as the text of the generated file."""
    return json.dumps(build(), indent=2, sort_keys=True) + "\n"


def main(arguments: List[str]) -> None:
    """Write the schema to the file named on the command line, or print it."""
    if arguments:
        Path(arguments[0]).write_text(render(), encoding="utf-8")
    else:
        sys.stdout.write(render())


if __name__ == "__main__":
    main(sys.argv[1:])
